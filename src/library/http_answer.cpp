#include "library/http_answer.hpp"

#include "base/assert.hpp"
#include "core/fingerprint.hpp"
#include "library/http_text.hpp"
#include "proxy/capture.hpp"

namespace onceward::api {
namespace {

HttpResponse first(const FirstAnswer& answer, const Executed& executed) {
  HttpResponse response = answer.response();
  if (executed.record.epoch != 0)
    response.headers.emplace_back("Onceward-Operation-Id", to_string(executed.record.operation_id));
  if (!executed.stored) response.headers.emplace_back("Onceward-Stored", "false");
  if (executed.like) response.headers.emplace_back("Onceward-Suspected-Duplicate", to_string(*executed.like));
  return response;
}

HttpResponse replay(const Record& record, const ReplayPolicy& policy) {
  HttpResponse response;
  response.status = replay_status(record.response->status, policy);
  std::string lines;
  append_replay_lines(lines, *record.response, policy);
  response.headers = headers_from(lines);
  response.headers.emplace_back("Onceward-Operation-Id", to_string(record.operation_id));
  response.body = record.response->body;
  return response;
}

HttpResponse rejection(const Rejected& rejected, const Policy& policy, const std::vector<Leaf>& leaves) {
  const std::string id =
      rejected.record.operation_id.is_zero() ? std::string() : to_string(rejected.record.operation_id);
  Problem problem{.operation_id = id};
  std::vector<std::string> changed;
  switch (rejected.why) {
    case Rejection::mismatch:
      changed = changed_pointers(rejected.record.request->leaves, leaves);
      problem.code = ProblemCode::key_reused;
      problem.status = policy.mismatch_status;
      problem.changed = changed;
      break;
    case Rejection::unknown:
      problem.code = ProblemCode::outcome_unknown;
      break;
    case Rejection::expired:
      problem.code = ProblemCode::record_expired;
      break;
    case Rejection::not_stored:
      problem.code = ProblemCode::response_not_stored;
      if (rejected.record.response) {
        problem.original_status = rejected.record.response->status;
        problem.location = line_value(rejected.record.response->headers, "Location").value_or("");
      }
      break;
    case Rejection::duplicate_fact:
      problem.code = ProblemCode::duplicate_business_operation;
      break;
    case Rejection::suspected:
      problem.code = ProblemCode::suspected_duplicate;
      break;
  }
  return http_problem(problem);
}

HttpResponse lost(const Record& record) {
  const std::string id = record.epoch != 0 ? to_string(record.operation_id) : std::string();
  return http_problem({.code = ProblemCode::outcome_unknown, .status = 502, .operation_id = id});
}

}  // namespace

onceward::Effect FirstAnswer::take(HttpResponse response) {
  const http::ResponseHead head = head_of(response);
  CapturedHead captured = capture_head(head, *policy_);
  std::shared_ptr<const OperationResult> result = result_of(captured, response.status, response.body);
  auto kept = std::make_shared<Response>();
  kept->status = static_cast<std::uint16_t>(response.status);
  kept->body_omitted = response.body.size() > max_response_;
  kept->headers =
      kept->body_omitted ? location_line(captured.stored_lines) : std::move(captured.stored_lines);
  if (!kept->body_omitted) kept->body = response.body;
  response_ = {response.status, headers_from(captured.first_lines), std::move(response.body)};
  return Answer{std::move(kept), captured.outcome, captured.ttl, std::move(result)};
}

HttpResponse passed(HttpResponse response) {
  std::erase_if(response.headers, [](const auto& header) { return is_control(header.first); });
  return response;
}

HttpResponse http_problem(const Problem& problem) {
  HttpResponse response{problem_status(problem), headers_from(problem_headers(problem)),
                        problem_json(problem)};
  if (!problem.operation_id.empty()) {
    response.headers.emplace_back("Onceward-Operation-Id", problem.operation_id);
  }
  return response;
}

HttpResponse http_answer(onceward::Outcome outcome, const FirstAnswer& answer, const Policy& policy,
                         const std::vector<Leaf>& leaves) {
  if (const auto* executed = std::get_if<Executed>(&outcome)) {
    if (std::holds_alternative<Answer>(executed->effect)) return first(answer, *executed);
    return lost(executed->record);
  }
  if (const auto* unguarded = std::get_if<Unguarded>(&outcome)) {
    return std::holds_alternative<Answer>(unguarded->effect) ? first(answer, Executed{}) : lost({});
  }
  if (const auto* replayed = std::get_if<Replayed>(&outcome)) return replay(replayed->record, policy.replay);
  if (const auto* rejected = std::get_if<Rejected>(&outcome)) return rejection(*rejected, policy, leaves);
  if (const auto* running = std::get_if<StillRunning>(&outcome)) {
    const std::string id =
        running->record.epoch != 0 ? to_string(running->record.operation_id) : std::string();
    return http_problem({.code = ProblemCode::in_progress, .operation_id = id});
  }
  if (std::holds_alternative<Unreachable>(outcome)) {
    return http_problem({.code = ProblemCode::upstream_unreachable});
  }
  ONCEWARD_ASSERT(std::holds_alternative<StoreFailed>(outcome));  // quotas are the proxy's
  const bool damaged = std::get<StoreFailed>(outcome).error.code == Errc::unreadable;
  return http_problem({.code = damaged ? ProblemCode::record_unreadable : ProblemCode::store_unavailable});
}

}  // namespace onceward::api
