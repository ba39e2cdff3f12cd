#include "stores/postgres/text.hpp"

#include <cstdint>

#include "base/hex.hpp"

namespace onceward::postgres {
namespace {

std::uint8_t byte_at(std::string_view bytes, std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); }

bool is_continuation(std::string_view bytes, std::size_t at) {
  return at < bytes.size() && (byte_at(bytes, at) & 0xc0) == 0x80;
}

// The length of the UTF-8 sequence that starts here, 0 when there is none (overlong and surrogates too).
std::size_t sequence_length(std::string_view bytes, std::size_t at) {
  const std::uint8_t first = byte_at(bytes, at);
  if (first < 0x80) return first == 0 || first == '\\' ? 0 : 1;
  if (!is_continuation(bytes, at + 1)) return 0;
  const std::uint8_t second = byte_at(bytes, at + 1);
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (!is_continuation(bytes, at + 2)) return 0;
  if (first == 0xe0) return second >= 0xa0 ? 3 : 0;
  if (first == 0xed) return second < 0xa0 ? 3 : 0;
  if (first >= 0xe1 && first <= 0xef) return 3;
  if (!is_continuation(bytes, at + 3)) return 0;
  if (first == 0xf0) return second >= 0x90 ? 4 : 0;
  if (first == 0xf4) return second < 0x90 ? 4 : 0;
  return first >= 0xf1 && first <= 0xf3 ? 4 : 0;
}

}  // namespace

std::string to_text(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = sequence_length(bytes, at);
    if (length == 0) {
      const std::uint8_t byte = byte_at(bytes, at);
      text += "\\x" + to_hex({&byte, 1});
    } else {
      text += bytes.substr(at, length);
    }
    at += length == 0 ? 1 : length;
  }
  return text;
}

std::optional<std::string> from_text(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      bytes += text[at];
      continue;
    }
    std::uint8_t byte = 0;
    if (text.size() - at < 4 || text[at + 1] != 'x' || !from_hex(text.substr(at + 2, 2), {&byte, 1}))
      return std::nullopt;
    bytes += static_cast<char>(byte);
    at += 3;
  }
  return bytes;
}

}  // namespace onceward::postgres
