// PassEnd: co_await lets everybody else hear first what the loop has just found; nothing is waited for when
// there is nobody else. Who is about to send waits for it, so that what a round has to send is sent in one
// go: whoever is woken by the first message then finds the next ones there, instead of falling asleep and
// being woken for each, which costs the sender more than the sending.
#pragma once

#include <coroutine>

#include "net/worker_io.hpp"

namespace onceward::net {

class PassEnd : Completion {
 public:
  explicit PassEnd(Worker& worker) : worker_(worker) {
    this->run = [](Completion* self) { static_cast<PassEnd*>(self)->handle_.resume(); };
  }
  bool await_ready() const noexcept { return !worker_.loop().has_news(); }
  void await_suspend(std::coroutine_handle<> handle) {
    handle_ = handle;
    worker_.post(this);
  }
  void await_resume() const noexcept {}

 private:
  Worker& worker_;
  std::coroutine_handle<> handle_;
};

}  // namespace onceward::net
