// Keys that a request does not carry but has in its body (`key.from`), for webhooks and messages. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/policy.hpp"
#include "onceward/result.hpp"

namespace onceward {

inline bool derives_from_body(const KeyPolicy& policy) {
  return policy.from == KeySource::json || policy.from == KeySource::content;
}

// Nothing: the body has no key, as if a header were absent. Errc::invalid: it has one that is none.
Result<std::optional<std::string>> derive_key(const KeyPolicy& policy, std::string_view body);

// What was derived, as an Idempotency-Key that every service can take: itself if it is a valid bare key,
// otherwise a hash of it.
std::string sendable_key(std::string_view derived);

}  // namespace onceward
