// The demo's driver: customers who each want one order, do not always hear the answer, and try again.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "http/upstream.hpp"

namespace onceward::cli {

struct DriverReport {
  std::size_t wanted = 0;     // intents
  std::size_t requests = 0;   // sent, retries included
  std::size_t unheard = 0;    // answers that did not reach the driver
  std::size_t confirmed = 0;  // intents that ended with an order in hand
  std::size_t replays = 0;    // answers from the first attempt, given again
  std::size_t held = 0;       // intents whose outcome is held as unknown
  std::size_t gave_up = 0;    // intents given up with nothing heard; with the two above: every intent
};

struct DriverPlan {
  std::string customer_prefix;
  std::size_t intents = 200;
  double loss = 0.15;  // share of answers lost between the server and the driver
  bool send_key = false;
  std::uint64_t seed = 1;
};

// On the upstream's worker. One after the other: the point is the count, not the speed.
Task<DriverReport> drive(http::Upstream& target, DriverPlan plan);

}  // namespace onceward::cli
