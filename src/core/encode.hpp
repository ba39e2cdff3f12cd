// Length-prefixed encoding of what gets hashed: no two different lists of parts give the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace onceward {

inline void append_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

inline void append_part(std::string& out, std::string_view part) {
  append_varint(out, part.size());
  out += part;
}

// ASCII only, whatever the locale: names of headers and media types.
constexpr char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

constexpr std::string_view trim_ows(std::string_view text) {
  constexpr std::string_view ows = " \t";
  const std::size_t first = text.find_first_not_of(ows);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(ows) - first + 1);
}

// Header and parameter names (RFC 9110).
constexpr bool is_tchar(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("!#$%&'*+-.^_`|~").contains(c);
}

}  // namespace onceward
