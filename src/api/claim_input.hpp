// What a claim asks for, read from its JSON: who, for what, under which key, and which request it stands
// for. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/api_rules.hpp"
#include "api/json_body.hpp"
#include "onceward/values.hpp"
#include "ops/problem.hpp"

namespace onceward {

// The parts of a request as the proxy would see them.
struct RequestParts {
  std::string method;
  std::string path;
  std::string query;
  std::string content_type;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

struct ClaimInput {
  // Absent is not the same as empty (I8).
  std::optional<std::string> tenant;
  std::optional<std::string> caller;
  std::string operation;
  std::string key;
  std::optional<Fingerprint> fingerprint;  // given, or
  std::optional<RequestParts> request;     // to be taken from these
  std::optional<Duration> lease;
  std::optional<Duration> ttl;
  std::string reference;  // the business reference; empty: none
  std::string claim_id;   // the asker's own name for this attempt; empty: none
};

struct ClaimRefused {
  ProblemCode code = ProblemCode::bad_request;
  std::string detail;
};

// Nothing, or why not.
std::optional<ClaimRefused> read_claim(std::string_view body, const ApiRules& rules, ClaimInput& out);

// Under the rule of its operation. `leaves` are empty for a fingerprint that was given.
Result<FingerprintResult> fingerprint_of(const ClaimInput& input, const OperationRule& rule,
                                         const Scope& scope, std::uint16_t version);

}  // namespace onceward
