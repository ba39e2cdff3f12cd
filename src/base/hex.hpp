// Hexadecimal text of bytes, lower case.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace onceward {

// Writes two digits per byte and returns the place behind them.
inline char* write_hex(std::span<const std::uint8_t> bytes, char* to) {
  constexpr char digits[] = "0123456789abcdef";
  for (std::uint8_t byte : bytes) {
    *to++ = digits[byte >> 4];
    *to++ = digits[byte & 15];
  }
  return to;
}

inline std::string to_hex(std::span<const std::uint8_t> bytes) {
  std::string text(bytes.size() * 2, '\0');
  write_hex(bytes, text.data());
  return text;
}

// Fills `bytes` from exactly as many digits, of either case.
inline bool from_hex(std::string_view text, std::span<std::uint8_t> bytes) {
  const auto value = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  if (text.size() != bytes.size() * 2) return false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = value(text[2 * i]);
    const int low = value(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

}  // namespace onceward
