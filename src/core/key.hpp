// The idempotency key as a client sends it: a structured-field String ("k1", RFC 8941) or a bare value
// (k1), which are the same key. Pure functions, callable from any thread; errors never repeat the key.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/policy.hpp"
#include "onceward/result.hpp"

namespace onceward {

// One header line's value. Errc::invalid when it is not a key under the policy (strict, max_length).
Result<std::string> parse_key(std::string_view header_value, const KeyPolicy& policy);

// All lines of the key's header: none is no key, more than one is an error even if they are equal.
Result<std::optional<std::string>> key_from_lines(std::span<const std::string_view> lines,
                                                  const KeyPolicy& policy);

}  // namespace onceward
