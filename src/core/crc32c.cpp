#include "core/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace onceward {
namespace {

constexpr std::uint32_t polynomial_reversed = 0x82f63b78;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? polynomial_reversed : 0);
    table[i] = value;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> table = make_table();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(std::string_view bytes, std::uint32_t seed) {
  std::uint64_t crc = ~seed;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  std::uint32_t tail = static_cast<std::uint32_t>(crc);
  for (; left > 0; ++at, --left) tail = _mm_crc32_u8(tail, static_cast<std::uint8_t>(*at));
  return ~tail;
}
#endif

}  // namespace

std::uint32_t crc32c_portable(std::string_view bytes, std::uint32_t seed) {
  std::uint32_t crc = ~seed;
  for (char byte : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<std::uint8_t>(byte)) & 0xff];
  return ~crc;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return crc32c_sse42(bytes, seed);
#endif
  return crc32c_portable(bytes, seed);
}

}  // namespace onceward
