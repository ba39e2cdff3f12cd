// How long to wait before trying again: twice as long each time, within bounds. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "onceward/executor.hpp"

namespace onceward {

constexpr Duration pause_longest{60'000};

// `tries` so far, from 1.
constexpr Duration pause_after(std::uint64_t tries, Duration first, Duration longest = pause_longest) {
  Duration pause = first;
  for (std::uint64_t i = 1; i < tries && pause < longest; ++i) pause *= 2;
  return std::min(pause, longest);
}

}  // namespace onceward
