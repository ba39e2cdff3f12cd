#include "base/json_text.hpp"

#include <cstdint>

namespace onceward {
namespace {

bool continues(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<std::uint8_t>(text[at]) & 0xC0) == 0x80;
}

void append_escape(std::string& out, char c) {
  constexpr char digits[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += digits[static_cast<std::uint8_t>(c) >> 4];
      out += digits[static_cast<std::uint8_t>(c) & 15];
  }
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<std::uint8_t>(text[0]);
  const auto second = text.size() > 1 ? static_cast<std::uint8_t>(text[1]) : std::uint8_t{0};
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (!continues(text, 1)) return 0;
  if (first < 0xE0) return 2;
  if (first == 0xE0 && second < 0xA0) return 0;  // could be shorter
  if (first == 0xED && second > 0x9F) return 0;  // surrogates
  if (!continues(text, 2)) return 0;
  if (first < 0xF0) return 3;
  if (first == 0xF0 && second < 0x90) return 0;
  if (first > 0xF4 || (first == 0xF4 && second > 0x8F)) return 0;  // beyond U+10FFFF
  return continues(text, 3) ? 4 : 0;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const char c = text[0];
    if (static_cast<std::uint8_t>(c) < 0x20 || c == '"' || c == '\\' || c == '\x7f') {
      append_escape(out, c);
      text.remove_prefix(1);
      continue;
    }
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      out += "\\ufffd";
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  out += '"';
}

}  // namespace onceward
