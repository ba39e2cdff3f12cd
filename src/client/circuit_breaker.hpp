// CircuitBreaker: stops sending to a server that fails again and again, and lets one request find out
// whether it is back. A pure state machine; guarded by its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "onceward/executor.hpp"

namespace onceward::client {

class CircuitBreaker {
 public:
  CircuitBreaker(std::size_t failures, Duration pause) : failures_max_(failures), pause_(pause) {}

  // Nothing: go on, and say afterwards how it went. Otherwise how long it stays shut.
  std::optional<Duration> blocked(MonoTime now);
  void succeeded();
  void failed(MonoTime now);
  void abandoned();  // the request ended without telling anything about the server

 private:
  enum class State : std::uint8_t { closed, open, trying };
  State state_ = State::closed;
  std::size_t failures_ = 0;  // in a row
  MonoTime open_until_{};
  std::size_t failures_max_;
  Duration pause_;
};

}  // namespace onceward::client
