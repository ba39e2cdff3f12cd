// Retry-After: a number of seconds or a date (RFC 9110, 10.2.3). Pure.
#pragma once

#include <optional>
#include <string_view>

#include "onceward/executor.hpp"

namespace onceward::client {

// How long to wait from `now`; nothing when the value is neither. A date in the past is no wait. A year is
// for ever: more is cut to it.
std::optional<Duration> parse_retry_after(std::string_view value, Timestamp now);

}  // namespace onceward::client
