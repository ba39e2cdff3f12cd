// Numbers as PostgreSQL sends them in binary: big-endian. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace onceward::postgres {

template <class T>
void append_number(std::string& out, T value) {
  for (std::size_t i = sizeof(T); i-- > 0;)
    out += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff);
}

// `bytes` has sizeof(T) bytes or more.
template <class T>
T read_number(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  return static_cast<T>(value);
}

}  // namespace onceward::postgres
