#include "base/system.hpp"

#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "base/assert.hpp"

namespace onceward {
namespace {

struct Block {
  std::array<std::uint8_t, 4096> bytes;
  std::size_t used = sizeof bytes;

  void refill() {
    // OpenSSL's generator of this thread, which the system seeds: 4 KiB of the system's own take six times as
    // long.
    ONCEWARD_ASSERT(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
    used = 0;
  }
};

thread_local Block block;

}  // namespace

Timestamp SystemClock::now() const { return at(mono()); }

Timestamp SystemClock::at(MonoTime moment) const {
  return started_at_ + std::chrono::floor<std::chrono::milliseconds>(moment - started_);
}

void SystemRandom::fill(std::span<std::uint8_t> bytes) {
  while (!bytes.empty()) {
    if (block.used == block.bytes.size()) block.refill();
    const std::size_t count = std::min(bytes.size(), block.bytes.size() - block.used);
    std::copy_n(block.bytes.begin() + static_cast<std::ptrdiff_t>(block.used), count, bytes.begin());
    // Used bytes are wiped: a nonce must not be readable twice.
    std::fill_n(block.bytes.begin() + static_cast<std::ptrdiff_t>(block.used), count, std::uint8_t{0});
    block.used += count;
    bytes = bytes.subspan(count);
  }
}

}  // namespace onceward
