// LeaseKeeper: renews one lease at a third of its length for as long as the work runs, at most until
// max_hold. Owned by the coroutine that runs the work; only on that coroutine's executor.
#pragma once

#include <coroutine>
#include <functional>

#include "base/task.hpp"
#include "engine/work.hpp"
#include "onceward/store.hpp"

namespace onceward {

class LeaseKeeper final : public Hold {
 public:
  // `lapsed` is called when the lease is no longer ours for certain, at most once.
  LeaseKeeper(Executor& executor, const Clock& clock, Store& store, std::function<void()> lapsed)
      : executor_(executor), clock_(clock), store_(store), lapsed_(std::move(lapsed)) {}

  // `asked_at` is when the claim was sent, which is not later than when the store granted it: measured
  // from there on the monotonic clock, our lease ends before the store's does.
  void start(const Fence& fence, Duration lease, MonoTime asked_at, MonoTime hold_until);
  // Whether the lease is still ours for certain, now or at a moment that was just measured.
  bool is_held() const override { return is_held(clock_.mono()); }
  bool is_held(MonoTime at) const { return at < lease_until_; }
  MonoTime lease_until() const { return lease_until_; }
  // co_await keeper.stop(): no renewal is on its way afterwards; await it before the keeper goes.
  auto stop() {
    stopped_ = true;
    executor_.cancel(alarm_);
    return Stopped{*this};
  }

 private:
  struct Alarm : Timer {
    LeaseKeeper* keeper = nullptr;
  };
  struct Stopped {
    LeaseKeeper& keeper;
    bool await_ready() const noexcept { return !keeper.renewing_; }
    void await_suspend(std::coroutine_handle<> waiting) noexcept { keeper.stopping_ = waiting; }
    void await_resume() const noexcept {}
  };

  void arm(MonoTime at);
  void on_alarm();
  Task<> renew();

  Executor& executor_;
  const Clock& clock_;
  Store& store_;
  std::function<void()> lapsed_;
  RenewRequest request_;
  MonoTime lease_until_{};
  MonoTime hold_until_{};
  Alarm alarm_;
  bool renewing_ = false;
  bool stopped_ = false;
  std::coroutine_handle<> stopping_;
};

}  // namespace onceward
