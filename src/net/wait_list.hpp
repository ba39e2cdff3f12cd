// WaitList: coroutines that wait for something another coroutine of the same worker will say. First
// come, first woken; woken through the executor, never inside the caller. One thread; must be empty
// when destroyed.
#pragma once

#include <coroutine>

#include "base/assert.hpp"
#include "onceward/executor.hpp"

namespace onceward::net {

class WaitList {
 public:
  explicit WaitList(Executor& executor) : executor_(executor) {}
  WaitList(const WaitList&) = delete;
  WaitList& operator=(const WaitList&) = delete;
  ~WaitList() { ONCEWARD_ASSERT(!first_); }

  class Waiter;
  // co_await: true when woken, false when the deadline came first.
  Waiter wait(MonoTime deadline);
  bool wake_one();
  void wake_all() {
    while (wake_one()) continue;
  }
  bool empty() const { return !first_; }

 private:
  void add(Waiter& waiter);
  void remove(Waiter& waiter);

  Executor& executor_;
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
};

class WaitList::Waiter : Timer, Completion {
 public:
  Waiter(WaitList& list, MonoTime deadline) : list_(list), deadline_(deadline) {
    Timer::run = [](Timer* self) { static_cast<Waiter*>(self)->on_deadline(); };
    Completion::run = [](Completion* self) { static_cast<Waiter*>(self)->handle_.resume(); };
  }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    handle_ = handle;
    list_.add(*this);
    if (deadline_ != MonoTime::max()) list_.executor_.arm(*this, deadline_);
  }
  bool await_resume() const noexcept { return woken_; }

 private:
  friend class WaitList;
  void on_deadline() {
    list_.remove(*this);
    handle_.resume();
  }

  WaitList& list_;
  MonoTime deadline_;
  std::coroutine_handle<> handle_;
  bool woken_ = false;
  Waiter* previous_ = nullptr;
  Waiter* next_ = nullptr;
};

inline WaitList::Waiter WaitList::wait(MonoTime deadline) { return Waiter(*this, deadline); }

inline void WaitList::add(Waiter& waiter) {
  waiter.previous_ = last_;
  (last_ ? last_->next_ : first_) = &waiter;
  last_ = &waiter;
}

inline void WaitList::remove(Waiter& waiter) {
  (waiter.previous_ ? waiter.previous_->next_ : first_) = waiter.next_;
  (waiter.next_ ? waiter.next_->previous_ : last_) = waiter.previous_;
}

inline bool WaitList::wake_one() {
  Waiter* waiter = first_;
  if (!waiter) return false;
  remove(*waiter);
  executor_.cancel(*waiter);
  waiter->woken_ = true;
  executor_.post(waiter);
  return true;
}

}  // namespace onceward::net
