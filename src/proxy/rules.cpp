#include "proxy/rules.hpp"

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
