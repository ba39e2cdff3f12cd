// Worker: one thread's event loop and the Executor of everything that runs on it. main() makes one per
// core; sockets, timers and coroutines of a worker are touched by its own thread only. It is an epoll
// loop of our own (worker_io.hpp shows it to this module): edge-triggered readiness that each stream
// remembers costs one system call less per wait than asking a general reactor, and allocates nothing.
#pragma once

#include <functional>
#include <memory>

#include "onceward/executor.hpp"

namespace onceward::net {

class Worker final : public Executor {
 public:
  Worker();
  // Everything started on it (connections, sleeping tasks) must have ended: suspended frames are never
  // destroyed, so they would leak.
  ~Worker() override;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void post(Completion* first) override;
  void arm(Timer& timer, MonoTime at) override;
  void cancel(Timer& timer) override;
  bool at_round_end(Completion& completion, Leaving what) override;
  bool can_defer() const override;
  void defer(Deferred& deferred) override;
  void undefer(Deferred& deferred) override;
  bool watch(int file, FileWatch& watch) override;

  // Any thread: runs the job on the worker's thread. For starting and stopping things, not for requests.
  void call(std::function<void()> job);

  void run();   // makes the calling thread the worker's; returns after stop()
  void stop();  // any thread

  static MonoTime now() { return std::chrono::steady_clock::now(); }
  // When this thread's loop last looked for events, which is now but for the work found since then: for
  // timeouts, where asking the clock anew for each would cost more than the difference matters.
  static MonoTime recently() { return looked_at_ == MonoTime{} ? now() : looked_at_; }

  struct Loop;  // worker_io.hpp
  Loop& loop() { return *loop_; }

 private:
  static constinit inline thread_local MonoTime looked_at_{};  // nothing: no loop runs on this thread
  std::unique_ptr<Loop> loop_;
};

}  // namespace onceward::net
