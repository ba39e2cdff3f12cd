#include "base/base64.hpp"

#include <cstdint>

namespace onceward {
namespace {

constexpr std::string_view standard = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view url_safe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string encode(std::string_view bytes, std::string_view digits) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (held += 8; held >= 6; held -= 6) text += digits[bits >> (held - 6) & 63];
  }
  if (held > 0) text += digits[bits << (6 - held) & 63];
  return text;
}

std::optional<std::string> decode(std::string_view text, std::string_view digits) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const std::size_t value = digits.find(c);
    if (value == digits.npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if ((held += 6) < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 255);
  }
  // Bits that stand for nothing must be zero, or two texts would be one value.
  if ((bits & ((1u << held) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text = encode(bytes, standard);
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  return decode(text, standard);
}

std::string to_base64url(std::string_view bytes) { return encode(bytes, url_safe); }
std::optional<std::string> from_base64url(std::string_view text) { return decode(text, url_safe); }

}  // namespace onceward
