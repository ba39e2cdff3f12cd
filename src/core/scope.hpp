// Scope: who asked for what under which key, as one hash; and the identifiers derived from it. Pure
// functions, callable from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "onceward/values.hpp"

namespace onceward {

// SHA-256 over the length-prefixed parts, HMAC when there is a secret. An absent tenant or caller is
// not the same as an empty one, so a request without identity can never meet one with it (I8).
Scope scope_of(std::optional<std::string_view> tenant, std::optional<std::string_view> caller,
               std::string_view operation, std::string_view key, std::string_view secret);

// Who may later ask for the state of what this tenant and caller began; 32 hex digits.
std::string owner_tag_of(std::optional<std::string_view> tenant, std::optional<std::string_view> caller,
                         std::string_view secret);

// First 8 hex digits of the key's hash: what logs may carry. Without a secret it is plain SHA-256, so
// that an operator can find a key's lines with sha256sum.
std::string key_hint(std::string_view key, std::string_view secret);

// UUIDv7 of `now` whose last 62 bits are the scope's first 62; only the low 12 bits of random12 count.
OperationId make_operation_id(const Scope& scope, Timestamp now, std::uint16_t random12);

// Those 62 bits, equal for a scope and every operation id made of it.
inline std::uint64_t load_big_endian(const std::uint8_t* bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | bytes[i];
  return value;
}
inline std::uint64_t scope_prefix(const Scope& scope) { return load_big_endian(scope.data.data()) >> 2; }
inline std::uint64_t scope_prefix(const OperationId& id) {
  return load_big_endian(id.data.data() + 8) & ((std::uint64_t{1} << 62) - 1);
}

}  // namespace onceward
