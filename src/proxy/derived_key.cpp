#include "proxy/derived_key.hpp"

#include <algorithm>

#include "base/hex.hpp"
#include "base/sha256.hpp"
#include "core/json_value.hpp"

namespace onceward {
namespace {

constexpr std::size_t key_length_max = 255;

}  // namespace

Result<std::optional<std::string>> derive_key(const KeyPolicy& policy, std::string_view body) {
  if (policy.from == KeySource::content) return std::optional(to_hex(sha256(body)));
  Result<std::string> value = json_value_at(body, policy.from_argument);
  if (!value) return std::optional<std::string>();
  if (value->empty() || value->size() > policy.max_length) {
    return Error{Errc::invalid, "the body's key is empty or too long"};
  }
  return std::optional(std::move(*value));
}

std::string sendable_key(std::string_view derived) {
  const bool visible = std::ranges::all_of(derived, [](char c) { return c > ' ' && c < '\x7f' && c != ','; });
  const bool valid =
      visible && !derived.empty() && derived.size() <= key_length_max && derived.front() != '"';
  return valid ? std::string(derived) : "sha256-" + to_hex(sha256(derived));
}

}  // namespace onceward
