// The inside of a Worker, for the files of this module: the epoll instance, the mailbox of posted
// completions, the timers. One thread, except push() and wake().
#pragma once

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

#include "net/timer_heap.hpp"
#include "net/worker.hpp"

namespace onceward::net {

// Something with a file descriptor that wants to hear of its readiness (edge-triggered).
class Watch {
 public:
  virtual void on_event(std::uint32_t events) = 0;

 protected:
  ~Watch() = default;
};

struct Worker::Loop {
  Loop();
  ~Loop();

  void watch(int fd, Watch& watch);
  // Before the watch dies: events of it that were already fetched are forgotten.
  void forget(Watch& watch);
  bool has_news() const { return told_ < fetched_; }  // which somebody has not been told yet

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
  int timeout_ms() const;

  int epoll_ = -1;
  int wake_ = -1;
  std::atomic<Completion*> posted_ = nullptr;  // by other threads, newest first
  Completion* own_ = nullptr;                  // by this one, oldest first
  Completion** own_end_ = &own_;
  std::atomic<std::thread::id> owner_{};
  std::array<epoll_event, 128> events_{};
  int fetched_ = 0;
  int told_ = 0;  // of those fetched
};

}  // namespace onceward::net
