// A store's reply that stays where it is, for as long as whoever asked likes: co_await StoreAsk(kept, start)
// gives a reference to its value, and nothing is moved about. One question at a time; see base/await.hpp
// otherwise.
#pragma once

#include <coroutine>
#include <utility>

#include "onceward/store.hpp"

namespace onceward {

template <class T>
struct KeptReply : Reply<T> {
  explicit KeptReply(Executor& where) : Reply<T>(where) {
    this->run = [](Completion* self) { static_cast<KeptReply*>(self)->waiting.resume(); };
  }
  std::coroutine_handle<> waiting;
};

template <class T, class Start>
class StoreAsk {
 public:
  StoreAsk(KeptReply<T>& reply, Start start) : reply_(reply), start_(std::move(start)) {}
  bool await_ready() noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> waiting) {
    reply_.waiting = waiting;
    return !start_(static_cast<Reply<T>&>(reply_));
  }
  Result<T>& await_resume() { return reply_.value; }

 private:
  KeptReply<T>& reply_;
  Start start_;
};

}  // namespace onceward
