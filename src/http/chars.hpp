// Character classes of HTTP's grammar, as tables: one lookup per byte of a head. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace onceward::http {

namespace detail {

enum CharClass : std::uint8_t { token_char = 1, value_char = 2, target_char = 4, host_char = 8 };

constexpr std::array<std::uint8_t, 256> make_char_table() {
  std::array<std::uint8_t, 256> table{};
  for (unsigned c = 0; c < 256; ++c) {
    const bool alnum = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
    const auto in = [c](std::string_view set) { return set.find(static_cast<char>(c)) != set.npos; };
    std::uint8_t classes = 0;
    if (alnum || (c != 0 && in("!#$%&'*+-.^_`|~"))) classes |= token_char;
    if (c == '\t' || (c >= 0x20 && c != 0x7f)) classes |= value_char;
    // Not only what a URI has: targets with raw UTF-8 or a '#' in the query are common and not ambiguous.
    if (c > 0x20 && c != 0x7f) classes |= target_char;
    if (alnum || (c != 0 && in("-._~%!$&'()*+,;=:[]"))) classes |= host_char;
    table[c] = classes;
  }
  return table;
}

inline constexpr auto char_table = make_char_table();

}  // namespace detail

inline bool is_token_char(char c) {
  return detail::char_table[static_cast<std::uint8_t>(c)] & detail::token_char;
}
inline bool is_value_char(char c) {
  return detail::char_table[static_cast<std::uint8_t>(c)] & detail::value_char;
}
inline bool is_target_char(char c) {
  return detail::char_table[static_cast<std::uint8_t>(c)] & detail::target_char;
}
inline bool is_host_char(char c) {
  return detail::char_table[static_cast<std::uint8_t>(c)] & detail::host_char;
}

inline char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c; }

inline std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace onceward::http
