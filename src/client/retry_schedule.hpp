// RetrySchedule: when the next attempt of one send may be made, if any. Pure; time and chance are arguments.
#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "client/verdict.hpp"
#include "onceward/client.hpp"
#include "onceward/executor.hpp"

namespace onceward::client {

// How far one send has come.
struct Progress {
  std::size_t attempts = 0;  // that were answered by anything but "still running"
  std::size_t waits = 0;     // answers that said so
  MonoTime started{};
};

struct Pause {
  Duration length{};
  bool operator==(const Pause&) const = default;
};
struct GiveUp {
  std::string_view why;  // static text
  bool operator==(const GiveUp&) const = default;
};

// The longest pause before the n-th retry (from 0): first_delay doubled each time, at most max_delay.
Duration backoff(const RetryPolicy& policy, std::size_t retry);

// After an answer (or its absence) that was judged `retry` or `wait`. `chance` is in [0, 1): the pause is
// that part of the back-off, so that many clients that failed together do not come back together. A
// Retry-After is kept to, plus a random part of first_delay.
std::variant<Pause, GiveUp> next_pause(const RetryPolicy& policy, const Progress& progress, Action action,
                                       std::optional<Duration> retry_after, double chance, MonoTime now);

}  // namespace onceward::client
