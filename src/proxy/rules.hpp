// Rules: everything that decides about a request, compiled from the configuration. Immutable and shared
// by the workers; a reload makes new ones, and a request keeps those it began with.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/fingerprint.hpp"
#include "core/policy.hpp"
#include "proxy/bulk_rules.hpp"
#include "proxy/identity.hpp"
#include "proxy/quotas.hpp"
#include "proxy/reference.hpp"
#include "proxy/routes.hpp"

namespace onceward {

struct Operation {
  std::string name;   // empty for the default: then it is "METHOD /path" of each request
  std::string match;  // as configured
  std::shared_ptr<const Policy> policy;
  CompiledFingerprintPolicy fingerprint;
  std::size_t metrics_index = 0;
  std::optional<ReferenceRule> reference;
  std::shared_ptr<const BulkRules> bulk;  // null: its requests are sent as they are
};

// What the operation of a request is called. Bytes of the path above 127 are percent-encoded: names are text,
// in JSON and in PostgreSQL, and a client may send any byte.
std::string operation_name(const Operation& operation, std::string_view method, std::string_view path);

struct Rules {
  Rules() = default;
  Rules(const Rules&) = delete;
  Rules& operator=(const Rules&) = delete;

  IdentityRules identity;
  QuotaLimits quotas;
  std::size_t max_request = std::size_t{1} << 20;
  std::size_t max_response = std::size_t{10} << 20;
  bool hash_keys = true;
  std::string secret;
  Routes routes;
  std::vector<Operation> operations;  // in the order of the routes
  Operation fallback;

  // Names that a Connection header may not take away: keys and identities.
  std::span<const std::string_view> protected_names() const { return protected_; }
  // Once, when everything else is set: collects those names.
  void seal();

  const Operation& operation_of(std::string_view method, std::string_view path) const {
    const std::optional<std::size_t> found = routes.find(method, path);
    return found ? operations[*found] : fallback;
  }

 private:
  std::vector<std::string_view> protected_;  // into the strings above, which never change again
};

}  // namespace onceward
