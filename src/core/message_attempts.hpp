// Whose claim a message is and how often it may be tried, wherever it is handled: what one program has
// handled or given up is known to the next. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "onceward/values.hpp"

namespace onceward {

// Consumers of one name are one caller, and never that of another operation of the same name.
inline constexpr std::string_view consumer_caller = "onceward.consumer";

struct AttemptLimit {
  std::uint64_t attempts = 5;
  std::uint64_t before =
      0;  // as the message says: tried so often when it became the dead letter that came back

  // The last attempt that it may have, seen from one that the record has counted. Whoever publishes a message
  // may say what they like: one that was tried so often before is beyond that number now, or it was not.
  constexpr std::uint64_t at(Epoch attempt) const {
    if (before >= attempt) return attempts;
    return before + std::min(attempts, std::numeric_limits<std::uint64_t>::max() - before);
  }
};

}  // namespace onceward
