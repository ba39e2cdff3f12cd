#include "proxy/rules.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace onceward {
namespace {

std::string_view header_of(const IdentityRule& rule) {
  switch (rule.from) {
    case IdentitySource::header:
      return rule.name;
    case IdentitySource::authorization:
      return "Authorization";
    case IdentitySource::cookie:
      return "Cookie";
    default:
      return {};
  }
}

}  // namespace

std::string operation_name(const Operation& operation, std::string_view method, std::string_view path) {
  if (!operation.name.empty()) return operation.name;
  constexpr std::string_view digits = "0123456789ABCDEF";
  const auto is_plain = [](char c) { return static_cast<std::uint8_t>(c) < 0x80; };
  std::string name;
  name.reserve(method.size() + 1 + path.size());
  name.append(method).append(" ");
  if (std::ranges::all_of(path, is_plain)) return name.append(path);
  for (const char c : path) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (is_plain(c)) {
      name += c;
    } else {
      name.append({'%', digits[byte >> 4], digits[byte & 15]});
    }
  }
  return name;
}

void Rules::seal() {
  ONCEWARD_ASSERT(protected_.empty());
  for (const IdentityRule* rule : {&identity.tenant, &identity.caller}) {
    if (const std::string_view name = header_of(*rule); !name.empty()) protected_.push_back(name);
  }
  const auto protect = [this](const Operation& operation) {
    const KeyPolicy& key = operation.policy->key;
    protected_.push_back(key.from == KeySource::named_header ? key.from_argument : key.header);
    for (const std::string& name : operation.policy->fingerprint.headers) protected_.push_back(name);
  };
  protect(fallback);
  for (const Operation& operation : operations) protect(operation);
}

}  // namespace onceward
