// PendingWork: an engine's Work whose effect comes from outside, from any thread: a user's callback or a
// caller that blocks. Delivery is the handover; it resumes the engine's coroutine on its own executor.
#pragma once

#include <atomic>
#include <coroutine>
#include <functional>
#include <memory>
#include <utility>

#include "engine/work.hpp"

namespace onceward::api {

// Shared by the coroutine that waits and by whoever will give the effect.
class Delivery : Completion {
 public:
  explicit Delivery(Executor& executor) : executor_(executor) {
    run = [](Completion* self) { static_cast<Delivery*>(self)->waiting_.resume(); };
  }

  // Any thread; only the first counts. Posted even on the executor's own thread: the coroutine may not have
  // suspended yet.
  void give(onceward::Effect effect) {
    if (given_.exchange(true)) return;
    effect_ = std::move(effect);
    executor_.post(this);
  }

  // On the executor. `start` is told once the coroutine can be resumed.
  class Awaiter {
   public:
    Awaiter(Delivery& delivery, std::function<void()> start)
        : delivery_(delivery), start_(std::move(start)) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) {
      delivery_.waiting_ = waiting;
      start_();
    }
    onceward::Effect await_resume() { return std::move(delivery_.effect_); }

   private:
    Delivery& delivery_;
    std::function<void()> start_;
  };

 private:
  Executor& executor_;
  std::atomic<bool> given_{false};
  onceward::Effect effect_ = NoAnswer{};
  std::coroutine_handle<> waiting_;
};

class PendingWork final : public onceward::Work {
 public:
  using Start = std::function<void(const Grant&, std::shared_ptr<Delivery>)>;
  PendingWork(Executor& executor, Start start) : executor_(executor), start_(std::move(start)) {}

  bool ready() override { return true; }
  Task<Result<Done>> prepare() override { co_return Done{}; }
  void stand_down() override {}
  Task<onceward::Effect> execute(Grant grant) override;
  Task<std::optional<Answer>> late() override { co_return std::nullopt; }

 private:
  Executor& executor_;
  Start start_;
};

}  // namespace onceward::api
