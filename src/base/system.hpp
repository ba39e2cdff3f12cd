// The real clock and the real source of chance. Shared by all threads.
#pragma once

#include "onceward/executor.hpp"

namespace onceward {

// Time of day, advanced by the monotonic clock from the moment of construction: a wall clock that is set
// while the process runs changes no lease, no ttl and no purge.
class SystemClock final : public Clock {
 public:
  Timestamp now() const override;
  MonoTime mono() const override { return std::chrono::steady_clock::now(); }
  Timestamp at(MonoTime moment) const override;

 private:
  const MonoTime started_ = std::chrono::steady_clock::now();
  const Timestamp started_at_ =
      std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
};

// The kernel's generator, read in blocks per thread: owner nonces are asked for on every request.
class SystemRandom final : public Random {
 public:
  void fill(std::span<std::uint8_t> bytes) override;
};

}  // namespace onceward
