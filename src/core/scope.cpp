#include "core/scope.hpp"

#include "base/hex.hpp"
#include "base/sha256.hpp"
#include "core/encode.hpp"

namespace onceward {
namespace {

constexpr std::uint64_t variant_bits = std::uint64_t{2} << 62;  // RFC 9562

template <class Iterator>
void store_big_endian(std::uint64_t value, Iterator bytes) {
  for (int shift = 56; shift >= 0; shift -= 8) *bytes++ = static_cast<std::uint8_t>(value >> shift);
}

void append_optional(std::string& out, std::optional<std::string_view> part) {
  out += part ? '\1' : '\0';
  if (part) append_part(out, *part);
}

Sha256Bytes hash(std::string_view data, std::string_view secret) {
  return secret.empty() ? sha256(data) : hmac_sha256(secret, data);
}

}  // namespace

Scope scope_of(std::optional<std::string_view> tenant, std::optional<std::string_view> caller,
               std::string_view operation, std::string_view key, std::string_view secret) {
  thread_local std::string parts;
  parts.assign("onceward scope 1\n");
  append_optional(parts, tenant);
  append_optional(parts, caller);
  append_part(parts, operation);
  append_part(parts, key);
  return Scope{hash(parts, secret)};
}

std::string owner_tag_of(std::optional<std::string_view> tenant, std::optional<std::string_view> caller,
                         std::string_view secret) {
  const Scope hash_of_both = scope_of(tenant, caller, "", "", secret);
  return to_hex(std::span(hash_of_both.data).first(16));
}

std::string key_hint(std::string_view key, std::string_view secret) {
  const Sha256Bytes digest = hash(key, secret);
  return to_hex(std::span(digest).first(4));
}

OperationId make_operation_id(const Scope& scope, Timestamp now, std::uint16_t random12) {
  const auto milliseconds = static_cast<std::uint64_t>(now.time_since_epoch().count());
  OperationId id;
  store_big_endian(milliseconds << 16 | 0x7000 | (random12 & 0x0fff), id.data.begin());
  store_big_endian(variant_bits | scope_prefix(scope), id.data.begin() + 8);
  return id;
}

}  // namespace onceward
