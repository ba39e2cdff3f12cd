#include "ops/problem.hpp"

#include <algorithm>
#include <array>

#include "base/assert.hpp"
#include "base/json_text.hpp"

namespace onceward {
namespace {

using enum ProblemCode;

constexpr std::string_view type_prefix = "/.well-known/onceward/problems/";

// clang-format off
constexpr std::array kinds = {
    ProblemKind{missing_key, "MISSING_IDEMPOTENCY_KEY", 400, "Idempotency key required",
        "This operation requires an idempotency key and the request carries none.",
        "Send the request again with an Idempotency-Key header: one new, random key per intent.", false, true, false},
    ProblemKind{invalid_key, "INVALID_IDEMPOTENCY_KEY", 400, "Invalid idempotency key",
        "The idempotency key is empty, too long, repeated or not well formed.",
        "Use one header line with 1 to 255 visible ASCII characters.", false, true, false},
    ProblemKind{missing_tenant, "MISSING_TENANT", 400, "Tenant required",
        "The request does not say which tenant it belongs to.",
        "Correct the request so that it names its tenant.", false, true, false},
    ProblemKind{invalid_tenant, "INVALID_TENANT", 400, "Invalid tenant",
        "The tenant of the request is not well formed.",
        "Correct the tenant's identifier.", false, true, false},
    ProblemKind{unauthenticated, "UNAUTHENTICATED", 401, "Not authenticated",
        "The request carries no token that can be verified.",
        "Send the request again, with the same key, with a valid token.", false, false, false},
    ProblemKind{key_reused, "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST", 422,
        "Idempotency key reused with a different request",
        "This key was first used with another request. Nothing was executed for this one.",
        "Use a new key for a new intent, or send exactly the request that the key was first used with.", false, false, false},
    ProblemKind{in_progress, "IDEMPOTENCY_REQUEST_IN_PROGRESS", 409, "Request in progress",
        "The first request with this key is still running.",
        "Send the same request with the same key again after the delay.", true, false, true},
    ProblemKind{outcome_unknown, "IDEMPOTENCY_OUTCOME_UNKNOWN", 409, "Outcome unknown",
        "The request with this key may or may not have taken effect. It is not sent again.",
        "Do not retry blindly and do not use a new key. Ask for the state of the operation, or query the resource.", false, false, false},
    ProblemKind{response_not_stored, "IDEMPOTENCY_RESPONSE_NOT_STORED", 409, "Response not stored",
        "The request was executed, but its answer was too large to keep.",
        "Query the resource. The request is never executed again under this key.", false, false, false},
    ProblemKind{record_expired, "IDEMPOTENCY_RECORD_EXPIRED", 410, "Answer no longer kept",
        "The request was executed, but its answer is no longer kept.",
        "Query the resource.", false, false, false},
    ProblemKind{duplicate_business_operation, "DUPLICATE_BUSINESS_OPERATION", 409, "Duplicate business operation",
        "Another key was already used for the same business operation.",
        "Use the result of the first operation.", false, false, false},
    ProblemKind{suspected_duplicate, "SUSPECTED_DUPLICATE", 409, "Suspected duplicate",
        "A very similar request was made a moment ago under another key.",
        "If this request is meant as well, send it again with Onceward-Confirm: distinct.", false, false, false},
    ProblemKind{key_rate_exceeded, "IDEMPOTENCY_KEY_RATE_EXCEEDED", 429, "Too many idempotency keys",
        "More keys are in use than this caller may have.",
        "Send the same request with the same key again after the delay.", true, true, true},
    ProblemKind{request_too_large, "REQUEST_TOO_LARGE", 413, "Request too large",
        "The body of the request is larger than a guarded request may be.",
        "Send a smaller request.", false, true, false},
    ProblemKind{store_unavailable, "IDEMPOTENCY_STORE_UNAVAILABLE", 503, "Idempotency store unavailable",
        "The store cannot answer now. Nothing was forwarded.",
        "Send the same request with the same key again after the delay.", true, false, true},
    ProblemKind{record_unreadable, "IDEMPOTENCY_RECORD_UNREADABLE", 503, "Idempotency record unreadable",
        "A record of this key exists but cannot be read. Nothing was forwarded.",
        "Send the same request with the same key again once an operator has repaired the record.", true, false, false},
    ProblemKind{upstream_unreachable, "UPSTREAM_UNREACHABLE", 502, "Upstream unreachable",
        "The service could not be reached. Nothing was sent to it.",
        "Send the same request with the same key again.", true, true, false},
    ProblemKind{bad_request, "BAD_REQUEST", 400, "Bad request",
        "The request is not valid HTTP or its content is not what is expected here.",
        "Correct the request.", false, false, false},
    ProblemKind{request_timeout, "REQUEST_TIMEOUT", 408, "Request timeout",
        "The request did not arrive whole in time. Nothing was forwarded.",
        "Send the same request with the same key again.", true, false, false},
    ProblemKind{headers_too_large, "HEADERS_TOO_LARGE", 431, "Request header fields too large",
        "The header of the request is larger than allowed.",
        "Send fewer or shorter header fields.", false, false, false},
    ProblemKind{expectation_failed, "EXPECTATION_FAILED", 417, "Expectation failed",
        "The request expects something that cannot be met; only 100-continue is known.",
        "Send the request without the Expect header.", false, false, false},
    ProblemKind{service_overloaded, "SERVICE_OVERLOADED", 503, "Service overloaded",
        "Too many requests are being served. Nothing was forwarded.",
        "Send the same request with the same key again after the delay.", true, false, true},
    ProblemKind{not_found, "NOT_FOUND", 404, "Not found",
        "There is nothing here, or nothing that you may see.",
        "Correct the address.", false, false, false},
    ProblemKind{method_not_allowed, "METHOD_NOT_ALLOWED", 405, "Method not allowed",
        "This resource does not support the method.",
        "Use one of the methods that the Allow header names.", false, false, false},
    ProblemKind{internal_error, "INTERNAL_ERROR", 500, "Internal error",
        "The request could not be handled.",
        "Send the same request with the same key again; report the error if it stays.", true, false, false},
    ProblemKind{upstream_timeout, "UPSTREAM_TIMEOUT", 504, "Upstream timeout",
        "The service did not answer in time.",
        "The request carried no key, so whether it took effect is not known here.", false, false, false},
    ProblemKind{stale_claim, "STALE_CLAIM", 409, "Stale claim",
        "The token does not belong to the current claim of this operation. Nothing was changed.",
        "Stop working on this claim: another owner or an operator has taken it over.", false, false, false},
    ProblemKind{forbidden, "FORBIDDEN", 403, "Forbidden",
        "The token's role does not allow this.",
        "Use a token with the needed role.", false, false, false},
    ProblemKind{conflict, "CONFLICT", 409, "Conflict",
        "The record is not in a state that allows this. Nothing was changed.",
        "Look at the record again before deciding.", false, false, false},
    ProblemKind{invalid_bulk_request, "INVALID_BULK_REQUEST", 400, "Invalid bulk request",
        "The body is not JSON with a list of items that each have an id. Nothing was sent.",
        "Correct the request.", false, false, false},
    ProblemKind{duplicate_bulk_item, "DUPLICATE_BULK_ITEM", 400, "Duplicate bulk item",
        "Two items of the request have the same id. Nothing was sent.",
        "Give every item of a request an id of its own.", false, false, false},
};
// clang-format on

consteval bool in_order() {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (static_cast<std::size_t>(kinds[i].code) != i) return false;
  }
  return true;
}
static_assert(in_order());

void append_member(std::string& out, std::string_view name, std::string_view value) {
  out += ",\"";
  out += name;
  out += "\":";
  append_json_string(out, value);
}

void append_flag(std::string& out, std::string_view name, bool value) {
  out += ",\"";
  out += name;
  out += value ? "\":true" : "\":false";
}

std::string page_member(std::string_view name, std::string_view text) {
  return "<dt>" + std::string(name) + "</dt><dd>" + std::string(text) + "</dd>\n";
}

}  // namespace

std::span<const ProblemKind> problem_kinds() { return kinds; }

const ProblemKind& problem_kind(ProblemCode code) {
  const auto index = static_cast<std::size_t>(code);
  ONCEWARD_ASSERT(index < kinds.size());
  return kinds[index];
}

std::optional<ProblemCode> problem_code_from_text(std::string_view text) {
  const auto* found = std::ranges::find(kinds, text, &ProblemKind::text);
  if (found == kinds.end()) return std::nullopt;
  return found->code;
}

int problem_status(const Problem& problem) {
  return problem.status != 0 ? problem.status : problem_kind(problem.code).status;
}

std::string problem_type(ProblemCode code) {
  return std::string(type_prefix) + std::string(problem_kind(code).text);
}

std::string problem_json(const Problem& problem) {
  const ProblemKind& kind = problem_kind(problem.code);
  std::string out = "{\"type\":";
  append_json_string(out, problem_type(problem.code));
  append_member(out, "title", kind.title);
  out += ",\"status\":" + std::to_string(problem_status(problem));
  append_member(out, "detail", problem.detail.empty() ? kind.detail : problem.detail);
  append_member(out, "code", kind.text);
  if (!problem.operation_id.empty()) append_member(out, "operationId", problem.operation_id);
  append_flag(out, "retryable", kind.retryable);
  append_flag(out, "safeNewKey", problem.safe_new_key.value_or(kind.safe_new_key));
  if (!problem.changed.empty()) {
    out += ",\"changed\":[";
    for (std::size_t i = 0; i < problem.changed.size(); ++i) {
      if (i != 0) out += ',';
      append_json_string(out, problem.changed[i]);
    }
    out += ']';
  }
  if (problem.original_status != 0) out += ",\"originalStatus\":" + std::to_string(problem.original_status);
  if (!problem.location.empty()) append_member(out, "location", problem.location);
  out += '}';
  return out;
}

std::string problem_headers(const Problem& problem) {
  std::string out = "Content-Type: application/problem+json\r\nCache-Control: no-store\r\nLink: <";
  out += problem_type(problem.code);
  out += ">; rel=\"describedby\"\r\n";
  // RFC 9110 demands a challenge with every 401.
  if (problem_status(problem) == 401) out += "WWW-Authenticate: Bearer\r\n";
  if (problem_kind(problem.code).retry_after) {
    // Whole seconds, rounded up: a client that comes back too early is turned away again.
    const auto delay = problem.retry_after.value_or(std::chrono::seconds(1));
    const auto seconds = std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(delay).count());
    out += "Retry-After: " + std::to_string(seconds) + "\r\n";
  }
  return out;
}

std::optional<std::string> problem_page_json(std::string_view code_text) {
  const auto code = problem_code_from_text(code_text);
  if (!code) return std::nullopt;
  const ProblemKind& kind = problem_kind(*code);
  std::string out = "{\"type\":";
  append_json_string(out, problem_type(*code));
  append_member(out, "code", kind.text);
  append_member(out, "title", kind.title);
  out += ",\"status\":" + std::to_string(kind.status);
  append_member(out, "description", kind.detail);
  append_member(out, "advice", kind.advice);
  append_flag(out, "retryable", kind.retryable);
  append_flag(out, "safeNewKey", kind.safe_new_key);
  append_flag(out, "retryAfter", kind.retry_after);
  out += '}';
  return out;
}

std::optional<std::string> problem_page_html(std::string_view code_text) {
  const auto code = problem_code_from_text(code_text);
  if (!code) return std::nullopt;
  const ProblemKind& kind = problem_kind(*code);
  // Everything on the page comes from the table above, which holds no markup.
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" +
         std::string(kind.title) + "</title></head>\n<body>\n<h1>" + std::string(kind.title) +
         "</h1>\n<dl>\n" + page_member("Code", kind.text) +
         page_member("Status", std::to_string(kind.status)) + page_member("What happened", kind.detail) +
         page_member("What to do", kind.advice) +
         page_member("Retry with the same key", kind.retryable ? "yes" : "no") +
         page_member("A new key is safe", kind.safe_new_key ? "yes" : "no") + "</dl>\n</body></html>\n";
}

}  // namespace onceward
