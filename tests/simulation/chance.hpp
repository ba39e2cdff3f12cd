// Chance: everything random in a simulated world, from one seed. Small and fast: a world makes
// thousands of draws and lives for a millisecond.
#pragma once

#include <chrono>
#include <cstdint>

#include "onceward/executor.hpp"

namespace onceward::simulation {

class Chance final : public Random {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {  // splitmix64
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low + 1)));
  }
  bool in_1000(int share) { return static_cast<int>(below(1000)) < share; }
  std::chrono::nanoseconds us(std::int64_t low, std::int64_t high) {
    return std::chrono::microseconds(between(low, high));
  }
  std::chrono::nanoseconds ms(std::int64_t low, std::int64_t high) { return us(low * 1000, high * 1000); }

  void fill(std::span<std::uint8_t> bytes) override {
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(next());
  }

 private:
  std::uint64_t state_;
};

}  // namespace onceward::simulation
