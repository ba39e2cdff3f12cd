// Virtual time: a clock that moves only when told and executors that run only when told, so that a test
// decides the order of everything. One thread. Unit tests advance one executor; the simulation steps
// several, each behind its own skewed clock.
#pragma once

#include <deque>
#include <map>
#include <optional>

#include "base/assert.hpp"
#include "onceward/executor.hpp"

namespace onceward::testing {

struct VirtualTime {
  std::chrono::nanoseconds now = std::chrono::hours(1);
};

// One process's view of the time: the monotonic clock has its own zero, the wall clock may jump.
class VirtualClock final : public Clock {
 public:
  explicit VirtualClock(const VirtualTime& time, std::chrono::nanoseconds mono_zero = {}, Duration skew = {})
      : time_(&time), mono_zero_(mono_zero), skew_(skew) {}

  Timestamp now() const override {
    const auto since_start = std::chrono::floor<Duration>(time_->now);
    return Timestamp{std::chrono::days{20'000}} + since_start + skew_;
  }
  MonoTime mono() const override {
    return MonoTime{time_->now + mono_zero_ + (mono_follows_wall ? skew_ : Duration{})};
  }
  // When, in true time, this clock's monotonic side shows `at`.
  std::chrono::nanoseconds true_time_of(MonoTime at) const {
    return at.time_since_epoch() - (mono().time_since_epoch() - time_->now);
  }

  void jump_wall(Duration by) { skew_ += by; }
  void follow(const VirtualTime& time) { time_ = &time; }
  bool mono_follows_wall = false;  // wrong on purpose: leases measured on a clock that can be set

 private:
  const VirtualTime* time_;
  std::chrono::nanoseconds mono_zero_;
  Duration skew_;
};

class VirtualExecutor final : public Executor {
 public:
  explicit VirtualExecutor(const Clock& clock) : clock_(clock) {}
  ~VirtualExecutor() override { ONCEWARD_ASSERT(ready_.empty() && timers_.empty()); }

  void post(Completion* first) override {
    for (; first; first = first->next) ready_.push_back(first);
  }
  bool at_round_end(Completion& completion, Leaving) override {
    completion.next = nullptr;
    post(&completion);
    return true;
  }
  void arm(Timer& timer, MonoTime at) override {
    cancel(timer);
    timer.at = at;
    timer.heap_slot = next_slot_++;  // ties fire in the order of arming
    timers_.emplace(Key{at, timer.heap_slot}, &timer);
  }
  void cancel(Timer& timer) override {
    if (timer.armed()) timers_.erase(Key{timer.at, timer.heap_slot});
    timer.heap_slot = Timer::npos;
  }

  // When there is something to do: now, at the next timer, or never.
  std::optional<MonoTime> next_at() const {
    if (!ready_.empty()) return clock_.mono();
    if (timers_.empty()) return std::nullopt;
    return timers_.begin()->first.first;
  }
  // Runs one completion or one due timer; false: nothing is due.
  bool step() {
    if (!ready_.empty()) {
      Completion* completion = ready_.front();
      ready_.pop_front();
      completion->run(completion);
      return true;
    }
    if (timers_.empty() || timers_.begin()->first.first > clock_.mono()) return false;
    Timer* timer = timers_.begin()->second;
    cancel(*timer);
    timer->run(timer);
    return true;
  }
  std::size_t timers() const { return timers_.size(); }

 private:
  using Key = std::pair<MonoTime, std::size_t>;
  const Clock& clock_;
  std::deque<Completion*> ready_;
  std::map<Key, Timer*> timers_;
  std::size_t next_slot_ = 0;
};

// One executor with its own time, for unit tests.
class VirtualRun {
 public:
  // Runs what is due, then lets time pass, timer by timer.
  void advance(std::chrono::nanoseconds by) {
    const MonoTime until = clock.mono() + by;
    for (int steps = 0;; ++steps) {
      ONCEWARD_ASSERT(steps < 10'000'000);  // a run that never rests is a bug, not a long test
      while (executor.step()) {
      }
      const std::optional<MonoTime> next = executor.next_at();
      if (!next || *next > until) break;
      time.now += std::max<std::chrono::nanoseconds>(*next - clock.mono(), std::chrono::nanoseconds(0));
    }
    time.now += until - clock.mono();
  }
  void run() { advance(std::chrono::nanoseconds(0)); }

  VirtualTime time;
  VirtualClock clock{time};
  VirtualExecutor executor{clock};
};

}  // namespace onceward::testing
