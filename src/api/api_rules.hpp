// ApiRules: what the API needs of the configuration, compiled. Made at start and at reload; a call keeps
// the rules it began with.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "api/tokens.hpp"
#include "core/fingerprint.hpp"
#include "core/policy.hpp"

namespace onceward {

struct OperationRule {
  std::shared_ptr<const Policy> policy = std::make_shared<const Policy>();
  CompiledFingerprintPolicy fingerprint;
  std::size_t metrics_index = 0;  // 0: default
};

struct ApiRules {
  Tokens tokens;
  std::string listen_host;   // as configured; a Host that may be used
  bool open_metrics = true;  // a loopback listener: its metrics need no token
  std::string secret;        // of scopes, as the proxy's
  bool hash_keys = true;
  bool tenant_required = false;
  bool tenant_is_uuid = false;
  std::size_t max_request = std::size_t{1} << 20;
  std::size_t max_response = std::size_t{10} << 20;
  Duration audit_ttl = std::chrono::days(90);
  bool tells_events = false;  // some operation does
  OperationRule fallback;
  std::map<std::string, OperationRule, std::less<>> operations;

  const OperationRule& operation(std::string_view name) const {
    const auto found = operations.find(name);
    return found == operations.end() ? fallback : found->second;
  }
};

}  // namespace onceward
