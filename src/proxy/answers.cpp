// How each outcome of the engine is worded for the client (CONTRACT 4).
#include "base/failpoint.hpp"
#include "core/fingerprint.hpp"
#include "http/response_writer.hpp"
#include "http/scratch.hpp"
#include "ops/claim_outcome.hpp"
#include "proxy/call.hpp"
#include "proxy/prefer.hpp"
#include "proxy/proxy.hpp"

namespace onceward {
namespace {

constexpr std::string_view operation_id_name = "Onceward-Operation-Id";

}  // namespace

Task<> Proxy::refuse(Call& call, const Problem& problem) {
  if (call.outcome == RequestOutcome::passed) call.outcome = RequestOutcome::rejected;
  std::string lines = problem_headers(problem);
  if (!problem.operation_id.empty()) {
    lines.append("Onceward-Operation-Id: ").append(problem.operation_id).append("\r\n");
  }
  (void)co_await call.exchange.respond(problem_status(problem), lines, problem_json(problem));
}

// Counted and logged, whatever the action.
void Proxy::suspect(Call& call, const OperationId& like) {
  metrics_.operation(call.operation->metrics_index).suspected.add();
  context_.log.warning("suspected duplicate", {{"operation", call.operation->name},
                                               {"operation_id", call.operation_id.view()},
                                               {"like", to_string(like)},
                                               {"key_hash", call.key_hash}});
}

void Proxy::suspect_item(const BulkRules& bulk, const OperationId& item, const OperationId& like) {
  metrics_.operation(bulk.item_metrics_index).suspected.add();
  context_.log.warning("suspected duplicate", {{"operation", bulk.item_name},
                                               {"operation_id", item.is_zero() ? "" : to_string(item)},
                                               {"like", to_string(like)}});
}

Task<> Proxy::answer(Call& call, Outcome& outcome, UpstreamWork* work) {
  if (fails_at(Failpoint::answer_before)) co_return call.exchange.abort();
  const std::size_t index = call.operation->metrics_index;
  const auto remember = [&](const Record& record, ClaimOutcome claim, RequestOutcome request) {
    if (!record.operation_id.is_zero()) call.operation_id = OperationIdText(record.operation_id);
    call.epoch = record.epoch;
    call.outcome = request;
    metrics_.claim(index, claim);
  };
  if (auto* executed = std::get_if<Executed>(&outcome)) {
    remember(executed->record, ClaimOutcome::granted, RequestOutcome::executed);
    if (executed->like) suspect(call, *executed->like);
    if (const auto* answered = std::get_if<Answer>(&executed->effect)) {
      (void)co_await answer_first(call, *executed, *answered, work);
    } else {
      co_await answer_none(call, *executed);
    }
  } else if (auto* replayed = std::get_if<Replayed>(&outcome)) {
    remember(replayed->record, ClaimOutcome::replay, RequestOutcome::replayed);
    metrics_.operation(index).replays.add();
    if (replayed->suspected) suspect(call, replayed->record.operation_id);
    (void)co_await answer_replay(call, replayed->record);
  } else if (auto* rejected = std::get_if<Rejected>(&outcome)) {
    remember(rejected->record, claim_outcome(rejected->why), RequestOutcome::rejected);
    co_await answer_rejected(call, *rejected);
  } else if (auto* running = std::get_if<StillRunning>(&outcome)) {
    remember(running->record, ClaimOutcome::in_progress, RequestOutcome::in_progress);
    metrics_.operation(index).in_progress_rejected.add();
    co_await answer_still_running(call, running->record);
  } else if (auto* unguarded = std::get_if<Unguarded>(&outcome)) {
    call.outcome = RequestOutcome::observed;
    if (call.key_hash.empty()) {
      call.outcome = RequestOutcome::passed;
    } else {
      count_would_have(index, unguarded->would_have);
    }
    if (const auto* answered = std::get_if<Answer>(&unguarded->effect)) {
      http::Scratch lines;
      lines->append(work ? work->first_lines() : answered->response->headers);
      (void)co_await answer_effect(call, *answered, work, *lines);
    } else {
      const bool timed_out = std::get<NoAnswer>(unguarded->effect).evidence.cause == UnknownCause::timeout;
      co_await refuse(
          call, {.code = timed_out ? ProblemCode::upstream_timeout : ProblemCode::upstream_unreachable});
    }
  } else if (auto* unreachable = std::get_if<Unreachable>(&outcome)) {
    call.outcome = RequestOutcome::unreachable;
    // Why is for the operator; addresses of the inside are not for clients.
    context_.log.warning("upstream unreachable", {{"reason", unreachable->message}});
    co_await refuse(call, {.code = ProblemCode::upstream_unreachable, .safe_new_key = true});
  } else if (auto* over = std::get_if<OverQuota>(&outcome)) {
    metrics_.claim(index, ClaimOutcome::refused);
    metrics_.quota_rejected.add();
    co_await refuse(call, {.code = ProblemCode::key_rate_exceeded, .retry_after = over->retry_after});
  } else {
    const Error& error = std::get<StoreFailed>(outcome).error;
    const bool damaged = error.code == Errc::unreadable;
    call.outcome = RequestOutcome::unavailable;
    metrics_.claim(index, damaged ? ClaimOutcome::unreadable : ClaimOutcome::unavailable);
    context_.log.error("store failed", {{"reason", error.message}});
    co_await refuse(call,
                    {.code = damaged ? ProblemCode::record_unreadable : ProblemCode::store_unavailable});
  }
  if (fails_at(Failpoint::answer_after)) call.exchange.abort();
}

void Proxy::count_would_have(std::size_t index, std::string_view would_have) {
  OperationMetrics& operation = metrics_.operation(index);
  if (would_have == "replay") operation.replays.add();
  if (would_have == "mismatch") operation.mismatches.add();
  if (would_have == "in_progress") operation.in_progress_rejected.add();
  if (would_have == "expired") operation.expired.add();
  for (std::size_t i = 0; i < claim_outcomes; ++i) {
    if (to_string(static_cast<ClaimOutcome>(i)) == would_have) {
      return metrics_.claim(index, static_cast<ClaimOutcome>(i));
    }
  }
  metrics_.claim(index, ClaimOutcome::unavailable);
}

Task<bool> Proxy::answer_first(Call& call, const Executed& executed, const Answer& answered,
                               UpstreamWork* work) {
  if (executed.committed) return answer_committed(call, *executed.record.response);
  http::Scratch lines;
  lines->append(work ? work->first_lines() : answered.response->headers);
  http::append_line(*lines, operation_id_name, call.operation_id.view());
  if (!executed.stored) lines->append("Onceward-Stored: false\r\n");
  if (executed.like) http::append_line(*lines, "Onceward-Suspected-Duplicate", to_string(*executed.like));
  return answer_effect(call, answered, work, *lines);
}

Task<> Proxy::answer_none(Call& call, const Executed& executed) {
  if (std::holds_alternative<NotSent>(executed.effect)) {
    call.outcome = RequestOutcome::unreachable;
    co_return co_await refuse(call, {.code = ProblemCode::upstream_unreachable});
  }
  const bool timed_out = std::get<NoAnswer>(executed.effect).evidence.cause == UnknownCause::timeout;
  call.outcome = RequestOutcome::unknown;
  co_await refuse(call, {.code = ProblemCode::outcome_unknown,
                         .status = timed_out ? 504 : 502,
                         .operation_id = call.operation_id.view()});
}

Task<bool> Proxy::answer_effect(Call& call, const Answer& answered, UpstreamWork* work,
                                std::string_view lines) {
  const Response& response = *answered.response;
  if (work && response.body_omitted) return answer_large(call, response.status, *work, std::string(lines));
  const std::string_view reason = work ? std::string_view(work->reason()) : std::string_view();
  return call.exchange.respond(response.status, lines, response.body, reason);
}

Task<bool> Proxy::answer_large(Call& call, int status, UpstreamWork& work, std::string lines) {
  http::Exchange& exchange = call.exchange;
  // Too large to keep: what has come so far, then the rest as it comes. Its outcome is stored already.
  bool going = co_await exchange.start(status, lines, work.announced_body(), work.reason());
  if (going) going = co_await exchange.write(work.begun_body());
  while (going && work.has_more()) {
    const http::BodyPiece piece = co_await work.read_more();
    if (piece.status == http::BodyStatus::end) break;
    if (piece.status != http::BodyStatus::piece) {
      exchange.abort();
      co_return false;
    }
    going = co_await exchange.write(piece.data);
  }
  co_return going ? co_await exchange.finish() : false;
}

// The upstream's own transaction said what every retry will be told; the wire said something else, or
// nothing.
Task<bool> Proxy::answer_committed(Call& call, const Response& response) {
  http::Scratch lines;
  lines->append(response.headers);
  http::append_line(*lines, operation_id_name, call.operation_id.view());
  return call.exchange.respond(response.status, *lines, response.body);
}

Task<bool> Proxy::answer_replay(Call& call, const Record& record) {
  const ReplayPolicy& policy = call.operation->policy->replay;
  http::Scratch lines;
  append_replay_lines(*lines, *record.response, policy);
  http::append_line(*lines, operation_id_name, call.operation_id.view());
  return call.exchange.respond(replay_status(record.response->status, policy), *lines, record.response->body);
}

Task<> Proxy::answer_rejected(Call& call, const Rejected& rejected) {
  const std::size_t index = call.operation->metrics_index;
  const Record& record = rejected.record;
  Problem problem{.operation_id = call.operation_id.view()};
  std::vector<std::string> changed;
  switch (rejected.why) {
    case Rejection::mismatch:
      call.outcome = RequestOutcome::mismatch;
      metrics_.operation(index).mismatches.add();
      changed = changed_pointers(record.request->leaves, call.info->leaves);
      problem.code = ProblemCode::key_reused;
      problem.status = call.operation->policy->mismatch_status;
      problem.changed = changed;
      break;
    case Rejection::unknown:
      call.outcome = RequestOutcome::unknown;
      problem.code = ProblemCode::outcome_unknown;
      problem.status = 409;
      break;
    case Rejection::expired:
      metrics_.operation(index).expired.add();
      problem.code = ProblemCode::record_expired;
      break;
    case Rejection::not_stored:
      problem.code = ProblemCode::response_not_stored;
      if (record.response) {
        problem.original_status = record.response->status;
        problem.location = line_value(record.response->headers, "Location").value_or("");
      }
      break;
    case Rejection::duplicate_fact:
      problem.code = ProblemCode::duplicate_business_operation;
      break;
    case Rejection::suspected:
      suspect(call, record.operation_id);
      problem.code = ProblemCode::suspected_duplicate;
      break;
  }
  co_await refuse(call, problem);
}

Task<> Proxy::answer_still_running(Call& call, const Record& record) {
  const Operation& operation = *call.operation;
  const bool would = operation.policy->in_progress.then == InProgressThen::accept ||
                     (operation.bulk && prefers_async(call.exchange.request().headers));
  if (!would || record.epoch == 0) {
    co_return co_await refuse(call,
                              {.code = ProblemCode::in_progress, .operation_id = call.operation_id.view()});
  }
  co_await respond_accepted(call, record);
}

Task<> Proxy::respond_accepted(Call& call, const Record& record) {
  std::string lines =
      "Content-Type: application/json\r\nCache-Control: no-store\r\nRetry-After: 1\r\nLocation: ";
  lines.append(operation_location(record.operation_id)).append("\r\n");
  http::append_line(lines, operation_id_name, call.operation_id.view());
  const std::optional<BulkProgress> progress = context_.bulk_board.find(record.operation_id);
  (void)co_await call.exchange.respond(202, lines, operation_json(record, progress));
}

}  // namespace onceward
