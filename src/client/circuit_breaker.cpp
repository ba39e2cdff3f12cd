#include "client/circuit_breaker.hpp"

namespace onceward::client {

std::optional<Duration> CircuitBreaker::blocked(MonoTime now) {
  switch (state_) {
    case State::closed:
      return std::nullopt;
    case State::open:
      if (now < open_until_) return std::chrono::ceil<Duration>(open_until_ - now);
      state_ = State::trying;
      return std::nullopt;
    case State::trying:
      return pause_;  // one is finding out; the others come back later
  }
  return std::nullopt;
}

void CircuitBreaker::succeeded() {
  state_ = State::closed;
  failures_ = 0;
}

void CircuitBreaker::failed(MonoTime now) {
  ++failures_;
  if (state_ == State::closed && failures_ < failures_max_) return;
  state_ = State::open;
  open_until_ = now + pause_;
}

void CircuitBreaker::abandoned() {
  if (state_ == State::trying) state_ = State::open;  // its pause is over: the next one tries
}

}  // namespace onceward::client
