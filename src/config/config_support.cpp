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

// A feature leaves this table when it exists.
constexpr Unsupported table[] = {
    {"identity from jwt is not supported by this build",
     [](const Config& c) { return from(c, IdentitySource::jwt) || c.identity.jwt.has_value(); }},
    {"security.encrypt is not supported by this build",
     [](const Config& c) { return !c.security.encrypt.empty(); }},
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
