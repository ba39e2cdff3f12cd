// Hexadecimal text of bytes, lower case.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace onceward {

inline std::string to_hex(std::span<const std::uint8_t> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (std::uint8_t byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace onceward
