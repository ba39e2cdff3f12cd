// A real thread as an executor, and a real clock: for tests of what happens between threads.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "onceward/executor.hpp"

namespace onceward::testing {

class RealClock final : public Clock {
 public:
  Timestamp now() const override {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  }
  MonoTime mono() const override { return std::chrono::steady_clock::now(); }
};

class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(const Clock& clock) : clock_(clock), thread_([this] { loop(); }) {}
  ~ThreadExecutor() override {
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  void post(Completion* first) override {
    {
      std::lock_guard lock(mutex_);
      for (; first; first = first->next) ready_.push_back(first);
    }
    changed_.notify_one();
  }
  void arm(Timer& timer, MonoTime at) override {
    cancel(timer);
    timer.at = at;
    timer.heap_slot = next_slot_++;
    timers_.emplace(Key{at, timer.heap_slot}, &timer);
  }
  void cancel(Timer& timer) override {
    if (timer.armed()) timers_.erase(Key{timer.at, timer.heap_slot});
    timer.heap_slot = Timer::npos;
  }

 private:
  using Key = std::pair<MonoTime, std::size_t>;

  void loop() {
    for (;;) {
      std::deque<Completion*> batch;
      {
        std::unique_lock lock(mutex_);
        const auto has_news = [&] { return ending_ || !ready_.empty(); };
        if (timers_.empty()) {
          changed_.wait(lock, has_news);
        } else {
          changed_.wait_until(lock, timers_.begin()->first.first, has_news);
        }
        if (ending_ && ready_.empty() && timers_.empty()) return;
        batch.swap(ready_);
      }
      for (Completion* completion : batch) completion->run(completion);
      while (!timers_.empty() && timers_.begin()->first.first <= clock_.mono()) {
        Timer* timer = timers_.begin()->second;
        cancel(*timer);
        timer->run(timer);
      }
    }
  }

  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Completion*> ready_;  // guarded by mutex_
  bool ending_ = false;            // guarded by mutex_
  std::map<Key, Timer*> timers_;   // only on the thread
  std::size_t next_slot_ = 0;
  std::thread thread_;
};

}  // namespace onceward::testing
