// Wire: one request's connection as its sender sees it: something arrives on it, once, or nothing does.
// Shared by the work that waits and the events that may still be under way when the work has gone.
#pragma once

#include <coroutine>
#include <memory>
#include <optional>

#include "onceward/executor.hpp"
#include "onceward/values.hpp"

namespace onceward::simulation {

struct Arrival {
  enum class Kind { whole, half, reset } kind = Kind::reset;
  std::shared_ptr<const Response> response;
};

class Wire : Completion, Timer {
 public:
  explicit Wire(Executor& executor) : executor_(executor) {
    Completion::run = [](Completion* self) { static_cast<Wire*>(self)->on_posted(); };
    Timer::run = [](Timer* self) { static_cast<Wire*>(self)->on_time(); };
  }

  void arrive(Arrival arrival) {
    if (arrival_) return;
    arrival_ = std::move(arrival);
    if (!waiting_) return;
    executor_.cancel(*this);
    executor_.post(this);
  }

  // co_await wire.until(at): what arrived, or nothing when time is up first.
  auto until(MonoTime at) {
    struct Awaiter {
      Wire& wire;
      MonoTime at;
      bool await_ready() const { return wire.arrival_.has_value(); }
      void await_suspend(std::coroutine_handle<> waiting) {
        wire.waiting_ = waiting;
        wire.executor_.arm(wire, at);
      }
      std::optional<Arrival> await_resume() { return wire.arrival_; }
    };
    return Awaiter{*this, at};
  }

 private:
  void on_posted() { std::exchange(waiting_, nullptr).resume(); }
  void on_time() { std::exchange(waiting_, nullptr).resume(); }

  Executor& executor_;
  std::optional<Arrival> arrival_;
  std::coroutine_handle<> waiting_;
};

}  // namespace onceward::simulation
