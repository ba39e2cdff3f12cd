// Characters of HTTP and JSON syntax: ASCII only, whatever the locale. Pure.
#pragma once

#include <string_view>

namespace onceward {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// -1 when it is not a hexadecimal digit.
constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

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
