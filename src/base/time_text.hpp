// Points in time and lengths of time as text, written and read: RFC 3339 in UTC, and 500ms 30s 10m 24h 7d.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "onceward/executor.hpp"

namespace onceward {

std::string time_text(Timestamp time);  // 2026-01-31T23:59:59.125Z

// UTC only ("Z"), with or without a fraction of a second.
std::optional<Timestamp> time_from_text(std::string_view text);

// A whole number and a unit: ms, s, m, h, d. At most a hundred years.
std::optional<Duration> duration_from_text(std::string_view text);

}  // namespace onceward
