#include "base/system.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/assert.hpp"

namespace onceward {
namespace {

struct Block {
  std::array<std::uint8_t, 4096> bytes;
  std::size_t used = sizeof bytes;

  void refill() {
    for (std::size_t have = 0; have < bytes.size();) {
      const ssize_t got = getrandom(bytes.data() + have, bytes.size() - have, 0);
      ONCEWARD_ASSERT(got > 0 || errno == EINTR);
      if (got > 0) have += static_cast<std::size_t>(got);
    }
    used = 0;
  }
};

thread_local Block block;

}  // namespace

Timestamp SystemClock::now() const {
  return started_at_ + std::chrono::floor<std::chrono::milliseconds>(mono() - started_);
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
