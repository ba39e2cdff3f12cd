// Problems: every answer that Onceward itself gives instead of the upstream's, as RFC 9457 documents.
// One table holds the codes; pure functions, any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace onceward {

enum class ProblemCode : std::uint8_t {
  missing_key,
  invalid_key,
  missing_tenant,
  invalid_tenant,
  unauthenticated,
  key_reused,  // with a different request
  in_progress,
  outcome_unknown,
  response_not_stored,
  record_expired,
  duplicate_business_operation,
  suspected_duplicate,
  key_rate_exceeded,
  request_too_large,
  store_unavailable,
  record_unreadable,
  upstream_unreachable,
  // Protocol errors and the API's own answers.
  bad_request,
  request_timeout,
  headers_too_large,
  expectation_failed,
  service_overloaded,
  not_found,
  method_not_allowed,
  internal_error,
  upstream_timeout,
  stale_claim,
  forbidden,
  conflict,
  invalid_bulk_request,
  duplicate_bulk_item,
};

struct ProblemKind {
  ProblemCode code;
  std::string_view text;  // MISSING_IDEMPOTENCY_KEY
  int status;
  std::string_view title;
  std::string_view detail;  // used when the caller has nothing more exact to say
  std::string_view advice;  // what a client should do, for the published page
  bool retryable;           // the same request with the same key, later, may succeed
  // Provably nothing was ever executed under this key, so a new key cannot cause a second effect. False
  // where the answer was decided before the key's record was looked at: an earlier attempt may have run.
  bool safe_new_key;
  bool retry_after;  // the answer carries Retry-After
};

const ProblemKind& problem_kind(ProblemCode code);
std::optional<ProblemCode> problem_code_from_text(std::string_view text);
std::span<const ProblemKind> problem_kinds();

struct Problem {
  ProblemCode code = ProblemCode::internal_error;
  int status = 0;                             // 0: the code's own
  std::string_view detail = {};               // empty: the code's own
  std::string_view operation_id = {};         // empty: none
  std::span<const std::string> changed = {};  // JSON pointers; only ever pointers, never values
  int original_status = 0;                    // 0: none
  std::string_view location = {};             // empty: none; the original answer's Location
  std::optional<std::chrono::milliseconds> retry_after = {};  // of codes with Retry-After; default 1 s
  std::optional<bool> safe_new_key = {};                      // where the caller knows better than the table
};

int problem_status(const Problem& problem);
std::string problem_json(const Problem& problem);
// Whole lines, each ending in CRLF: Content-Type, Cache-Control, Link, and WWW-Authenticate and Retry-After
// where they apply.
std::string problem_headers(const Problem& problem);

// "/.well-known/onceward/problems/<CODE>": a URI reference that resolves on the proxy itself.
std::string problem_type(ProblemCode code);

// GET /.well-known/onceward/problems/{code}. Nothing for a code that does not exist.
std::optional<std::string> problem_page_json(std::string_view code_text);
std::optional<std::string> problem_page_html(std::string_view code_text);

}  // namespace onceward
