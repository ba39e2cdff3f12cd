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
  // Whether all that had come until a moment ago is known, by a look that began when looks() was already
  // beyond what is given: who has no news then has none. Looks if need be; false if there was more than it
  // could take.
  bool has_seen_all(std::uint64_t looks_before, MonoTime now);
  std::uint64_t looks() const { return looks_; }

  void leave(Completion& completion, Leaving what);
  void defer(Deferred& what);
  void push(Completion* first);
  void wake() const;
  void run();

  bool on_own_thread() const { return std::this_thread::get_id() == owner_.load(std::memory_order_relaxed); }

  TimerHeap timers;
  DeferredList deferred;
  std::atomic<bool> stopping = false;

 private:
  // Completions of this thread, oldest first.
  struct Chain {
    void add(Completion* chain);
    Completion* take();
    bool empty() const { return !first; }

    Completion* first = nullptr;
    Completion** end = &first;
  };

  static void run_all(Completion* next);
  bool fetch(int timeout_ms);
  bool has_own_work() const { return !own_.empty() || !requests_.empty() || !answers_.empty(); }
  void dispatch();
  void run_posted();
  void run_leaving();
  void end_file_events();
  int timeout_ms() const;

  int epoll_ = -1;
  int wake_ = -1;
  MonoTime deferred_since_{};                  // of what was deferred first
  std::atomic<Completion*> posted_ = nullptr;  // by other threads, newest first
  Chain own_;                                  // by this one
  Chain requests_;                             // which wait for the end of the round
  Chain answers_;                              // they too, behind those
  std::atomic<std::thread::id> owner_{};
  std::vector<std::shared_ptr<FileEvents>> file_events_;
  std::array<epoll_event, 128> events_{};
  int fetched_ = 0;
  int told_ = 0;  // of those fetched
  std::uint64_t looks_ = 0;
  std::uint64_t seen_all_by_ = 0;  // the last look that saw all
  MonoTime seen_all_at_{};
};

}  // namespace onceward::net
