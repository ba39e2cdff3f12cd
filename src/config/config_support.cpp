#include <algorithm>
#include <functional>

#include "config/config.hpp"

namespace onceward::config {
namespace {

struct Unsupported {
  const char* what;
  bool (*used)(const Config&);
};

bool from(const Config& config, IdentitySource source) {
  return config.identity.tenant.from.source == source || config.identity.caller.source == source;
}

bool any_operation(const Config& config, const std::function<bool(const OperationConfig&)>& uses) {
  return std::ranges::any_of(config.operations, uses);
}

// A feature leaves this table when it exists.
constexpr Unsupported table[] = {
    {"identity from jwt is not supported by this build",
     [](const Config& c) { return from(c, IdentitySource::jwt) || c.identity.jwt.has_value(); }},
    {"security.encrypt is not supported by this build",
     [](const Config& c) { return !c.security.encrypt.empty(); }},
    {"bulk together with unique, suspect or events is not supported by this build",
     [](const Config& c) {
       return any_operation(c, [](const auto& o) {
         return o.bulk && (o.policy.unique || o.policy.suspect || !o.policy.events.empty());
       });
     }},
    // Its items are sent one by one or the request is passed on whole: there is no way to do it and only
    // look.
    {"bulk with mode: observe is not supported",
     [](const Config& c) {
       return any_operation(c, [](const auto& o) { return o.bulk && o.policy.mode == Mode::observe; });
     }},
};

}  // namespace

std::vector<std::string> unsupported_features(const Config& config) {
  std::vector<std::string> names;
  for (const Unsupported& entry : table) {
    if (entry.used(config)) names.emplace_back(entry.what);
  }
  return names;
}

}  // namespace onceward::config
