#include "client/verdict.hpp"

#include <algorithm>
#include <array>

namespace onceward::client {
namespace {

struct CodeRule {
  std::string_view code;
  Verdict verdict;
};

constexpr std::array rules{
    CodeRule{"MISSING_IDEMPOTENCY_KEY", {Action::stop, Doubt::kept}},
    CodeRule{"INVALID_IDEMPOTENCY_KEY", {Action::stop, Doubt::kept}},
    CodeRule{"MISSING_TENANT", {Action::stop, Doubt::kept}},
    CodeRule{"INVALID_TENANT", {Action::stop, Doubt::kept}},
    CodeRule{"UNAUTHENTICATED", {Action::stop, Doubt::kept}},
    // The key was never bound to our request, so none of our attempts can have run under it.
    CodeRule{"IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST", {Action::stop, Doubt::settled}},
    CodeRule{"IDEMPOTENCY_REQUEST_IN_PROGRESS", {Action::wait, Doubt::raised}},
    CodeRule{"IDEMPOTENCY_OUTCOME_UNKNOWN", {Action::stop, Doubt::raised}},
    CodeRule{"IDEMPOTENCY_RECORD_EXPIRED", {Action::stop, Doubt::raised}},
    CodeRule{"DUPLICATE_BUSINESS_OPERATION", {Action::stop, Doubt::settled}},
    CodeRule{"SUSPECTED_DUPLICATE", {Action::stop, Doubt::kept}},
    CodeRule{"IDEMPOTENCY_KEY_RATE_EXCEEDED", {Action::retry, Doubt::kept}},
    CodeRule{"REQUEST_TOO_LARGE", {Action::stop, Doubt::kept}},
    CodeRule{"IDEMPOTENCY_STORE_UNAVAILABLE", {Action::retry, Doubt::kept}},
    // There is a record, so an earlier attempt came further than this one.
    CodeRule{"IDEMPOTENCY_RECORD_UNREADABLE", {Action::retry, Doubt::raised}},
    CodeRule{"UPSTREAM_UNREACHABLE", {Action::retry, Doubt::kept}},
};

constexpr std::string_view operations_path = "/.well-known/onceward/operations/";

bool is_one_of(int status, std::initializer_list<int> statuses) {
  return std::ranges::find(statuses, status) != statuses.end();
}

// The outcome is final and a success or not; only its body was too large to keep.
Verdict not_stored(int original_status) {
  if (original_status == 0) return {Action::stop, Doubt::raised};
  return {original_status < 400 ? Action::done : Action::stop, Doubt::settled};
}

Verdict by_status(const Signs& signs) {
  const int status = signs.status;
  if (status == 202 && signs.location.find(operations_path) != std::string_view::npos)
    return {Action::wait, Doubt::raised};
  if (status < 400) return {Action::done, Doubt::settled};
  // Other servers say that the first request is still running with a plain 409.
  if (status == 409 && signs.has_retry_after) return {Action::wait, Doubt::raised};
  if (is_one_of(status, {408, 425, 429, 503})) return {Action::retry, Doubt::kept};
  // Some gateway lost it on the way there or back; the key makes asking again safe.
  if (is_one_of(status, {502, 504})) return {Action::retry, Doubt::raised};
  // Refused at the door: nothing happened, but an earlier attempt may have been let in.
  if (is_one_of(status, {401, 403, 407, 413, 421, 426, 431})) return {Action::stop, Doubt::kept};
  return {Action::stop, Doubt::settled};
}

}  // namespace

Verdict classify(const Signs& signs) {
  if (signs.code == "IDEMPOTENCY_RESPONSE_NOT_STORED") return not_stored(signs.original_status);
  const auto rule = std::ranges::find(rules, signs.code, &CodeRule::code);
  return rule != rules.end() ? rule->verdict : by_status(signs);
}

}  // namespace onceward::client
