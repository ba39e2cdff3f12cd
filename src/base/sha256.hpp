// SHA-256 and HMAC-SHA-256 from OpenSSL (SHA-NI where the machine has it). The algorithm is fetched
// once and a context kept per thread: half the cost of a short one-shot digest.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace onceward {

using Sha256Bytes = std::array<std::uint8_t, 32>;

Sha256Bytes sha256(std::string_view data);
Sha256Bytes hmac_sha256(std::string_view key, std::string_view data);

}  // namespace onceward
