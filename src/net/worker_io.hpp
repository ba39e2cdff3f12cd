// The inside of a Worker, for the files of this module: the epoll instance, the mailbox of posted
// completions, the timers. One thread, except push() and wake().
#pragma once

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "net/file_events.hpp"
#include "net/timer_heap.hpp"
#include "net/worker.hpp"

namespace onceward::net {

struct Worker::Loop {
  Loop();
  ~Loop();

  void watch(int fd, Watch& watch);
  // Before the watch dies: events of it that were already fetched are forgotten.
  void forget(Watch& watch);
  // For those who do not live on this thread; its own thread only.
  bool watch(int fd, FileWatch& watch);
  bool has_news() const { return told_ < fetched_; }  // which somebody has not been told yet

  void defer(Deferred& what);
  void push(Completion* first);
  void wake() const;
  void run();

  bool on_own_thread() const { return std::this_thread::get_id() == owner_.load(std::memory_order_relaxed); }

  TimerHeap timers;
  DeferredList deferred;
  std::atomic<bool> stopping = false;

 private:
  void push_own(Completion* first);
  static void run_all(Completion* next);
  void run_posted();
  void dispatch(int count);
  void end_file_events();
  int timeout_ms() const;

  int epoll_ = -1;
  int wake_ = -1;
  MonoTime deferred_since_{};                  // of what was deferred first
  std::atomic<Completion*> posted_ = nullptr;  // by other threads, newest first
  Completion* own_ = nullptr;                  // by this one, oldest first
  Completion** own_end_ = &own_;
  std::atomic<std::thread::id> owner_{};
  std::vector<std::shared_ptr<FileEvents>> file_events_;
  std::array<epoll_event, 128> events_{};
  int fetched_ = 0;
  int told_ = 0;  // of those fetched
};

}  // namespace onceward::net
