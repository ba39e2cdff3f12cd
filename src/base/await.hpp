// Awaiting what the public headers offer: a store verb, a sleep, the end of a round.
#pragma once

#include <coroutine>
#include <utility>

#include "onceward/executor.hpp"
#include "onceward/store.hpp"

namespace onceward {

// co_await StoreCall<ClaimReply>(executor, [&](auto& reply) { return store.claim(request, reply); })
template <class T, class Start>
class StoreCall : Reply<T> {
 public:
  StoreCall(Executor& executor, Start start) : Reply<T>(executor), start_(std::move(start)) {
    this->run = [](Completion* self) { static_cast<StoreCall*>(self)->waiting_.resume(); };
  }
  bool await_ready() noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> waiting) {
    waiting_ = waiting;
    return !start_(static_cast<Reply<T>&>(*this));
  }
  Result<T> await_resume() { return std::move(this->value); }

 private:
  Start start_;
  std::coroutine_handle<> waiting_;
};

template <class T, class Start>
StoreCall<T, Start> store_call(Executor& executor, Start start) {
  return StoreCall<T, Start>(executor, std::move(start));
}

class SleepUntil : Timer {
 public:
  SleepUntil(Executor& executor, MonoTime at) : executor_(executor), until_(at) {
    this->run = [](Timer* self) { static_cast<SleepUntil*>(self)->waiting_.resume(); };
  }
  bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    waiting_ = waiting;
    executor_.arm(*this, until_);
  }
  void await_resume() noexcept {}

 private:
  Executor& executor_;
  MonoTime until_;
  std::coroutine_handle<> waiting_;
};

// co_await RoundEnd(executor, Leaving::request), on its thread, before sending something. Whoever is woken by
// the first of a round's messages then finds the next ones there, instead of falling asleep and being woken
// for each, which costs the sender more than the sending.
class RoundEnd : Completion {
 public:
  RoundEnd(Executor& executor, Leaving what) : executor_(executor), what_(what) {
    this->run = [](Completion* self) { static_cast<RoundEnd*>(self)->waiting_.resume(); };
  }
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> waiting) {
    waiting_ = waiting;
    return executor_.at_round_end(*this, what_);
  }
  void await_resume() const noexcept {}

 private:
  Executor& executor_;
  const Leaving what_;
  std::coroutine_handle<> waiting_;
};

}  // namespace onceward
