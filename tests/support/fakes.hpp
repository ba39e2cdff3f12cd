// What tests inject instead of the world: a clock that moves only when told, chance from a seed, and an
// executor that a test thread can wait on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>

#include "base/assert.hpp"
#include "onceward/executor.hpp"
#include "onceward/store.hpp"

namespace onceward::testing {

class FakeClock final : public Clock {
 public:
  explicit FakeClock(Timestamp start = Timestamp{std::chrono::days{20'000}})
      : now_(start.time_since_epoch().count()) {}
  Timestamp now() const override { return Timestamp{Duration{now_.load()}}; }
  MonoTime mono() const override { return MonoTime{Duration{mono_.load()}}; }
  void advance(Duration by) {
    now_ += by.count();
    mono_ += by.count();
  }
  void jump_wall(Duration by) { now_ += by.count(); }

 private:
  std::atomic<std::int64_t> now_;
  std::atomic<std::int64_t> mono_{1'000'000};
};

class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}
  void fill(std::span<std::uint8_t> bytes) override {
    std::lock_guard lock(mutex_);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(engine_());
  }

 private:
  std::mutex mutex_;
  std::mt19937_64 engine_;
};

// Completions are only counted; the test thread waits for its own. No timers.
class BlockingExecutor final : public Executor {
 public:
  // Touches nothing of ours after the last of them: whoever waited for it may be gone, and we with it.
  void post(Completion* first) override {
    while (first) {
      Completion* next = first->next;
      first->run(first);
      first = next;
    }
  }
  void arm(Timer&, MonoTime) override {
    constexpr bool has_timers = false;
    ONCEWARD_ASSERT(has_timers);
  }
  void cancel(Timer&) override {}

  // Calls a verb and waits for its reply.
  template <class T, class Start>
  Result<T> call(Start start) {
    struct Waiting : Reply<T> {
      explicit Waiting(BlockingExecutor& executor) : Reply<T>(executor), blocked(executor) {}
      BlockingExecutor& blocked;
      bool done = false;  // guarded by the executor's mutex
    } reply(*this);
    reply.run = [](Completion* self) {
      auto* waiting = static_cast<Waiting*>(self);
      const std::lock_guard lock(waiting->blocked.mutex_);
      waiting->done = true;
      waiting->blocked.changed_.notify_all();
    };
    if (start(static_cast<Reply<T>&>(reply))) return std::move(reply.value);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reply.done; });
    return std::move(reply.value);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace onceward::testing
