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

}  // namespace onceward
