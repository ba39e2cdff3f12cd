// What becomes of a message after an attempt to have it handled. Pure: from the engine's outcome alone.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "engine/outcome.hpp"

namespace onceward::sidecar {

// Its outcome is durable: the broker may forget it.
struct Acknowledge {
  bool duplicate = false;  // handled by an earlier delivery
};
// Nothing lasting came of it, or nothing can be known yet.
struct TryAgain {
  std::string why;
  bool counted = true;  // as one of its attempts
};
// It is put aside, for people.
struct DeadLetter {
  std::string_view reason;  // one word, for headers and metrics: rejected, attempts, unknown, mismatch, …
  std::string error;        // a sentence
};
using Verdict = std::variant<Acknowledge, TryAgain, DeadLetter>;

// How often it has been tried, this time included, and may be.
struct Attempts {
  std::uint64_t number = 0;
  std::uint64_t limit = 5;
  bool exhausted = false;  // it was not even tried this time
  bool forwards = false;   // on_unknown: forward
};

Verdict judge(const Outcome& outcome, const Attempts& attempts);

}  // namespace onceward::sidecar
