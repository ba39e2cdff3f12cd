// Waiting for what must come. It returns at once when it comes, so the limit costs nothing: it is there for a
// machine that is busy with other things, not for this one.
#pragma once

#include <chrono>
#include <thread>

namespace onceward::testing {

inline constexpr std::chrono::seconds patience{30};

template <class Condition>
bool eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

}  // namespace onceward::testing
