// Who is asking: tenant and caller of a request, read from its head and its connection. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "http/exchange.hpp"
#include "http/head.hpp"
#include "ops/problem.hpp"

namespace onceward {

enum class IdentitySource { none, authorization, header, cookie, certificate };

struct IdentityRule {
  IdentitySource from = IdentitySource::none;
  std::string name;  // of the header or cookie
};

struct IdentityRules {
  IdentityRule tenant{IdentitySource::header, "X-Tenant-ID"};
  bool tenant_required = false;
  bool tenant_is_uuid = false;
  IdentityRule caller{IdentitySource::authorization, ""};
};

// Absent is not the same as empty: both are part of the scope (I8).
struct Identity {
  std::optional<std::string> tenant;
  std::optional<std::string> caller;
  bool operator==(const Identity&) const = default;
};

struct IdentityRefused {
  ProblemCode code;
  std::string_view detail;
};

std::variant<Identity, IdentityRefused> identify(const IdentityRules& rules, const http::RequestHead& request,
                                                 const http::PeerInfo& peer);

// Who may later ask for the state of what this identity began; 32 hex digits.
std::string owner_tag(const Identity& identity, std::string_view secret);

}  // namespace onceward
