#include "stores/redis/crc16.hpp"

#include <array>

namespace onceward::redis {
namespace {

constexpr std::uint16_t polynomial = 0x1021;

constexpr std::array<std::uint16_t, 256> make_table() {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 0x8000 ? (crc << 1) ^ polynomial : crc << 1;
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}

constexpr std::array<std::uint16_t, 256> table = make_table();

}  // namespace

std::uint16_t crc16(std::string_view bytes) {
  unsigned crc = 0;
  for (const char c : bytes)
    crc = (crc << 8 ^ table[(crc >> 8 ^ static_cast<std::uint8_t>(c)) & 0xff]) & 0xffff;
  return static_cast<std::uint16_t>(crc);
}

std::uint16_t slot_of(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open != key.npos) {
    const std::size_t close = key.find('}', open + 1);
    if (close != key.npos && close != open + 1) key = key.substr(open + 1, close - open - 1);
  }
  return crc16(key) % slot_count;
}

}  // namespace onceward::redis
