// The hash slot of a key, as every Redis Cluster computes it: CRC16 (XMODEM) of the key, or of what is
// between its first braces. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace onceward::redis {

constexpr std::uint16_t slot_count = 16384;

std::uint16_t crc16(std::string_view bytes);
std::uint16_t slot_of(std::string_view key);

}  // namespace onceward::redis
