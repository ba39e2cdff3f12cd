#include "sidecar/handler.hpp"

#include <algorithm>
#include <charconv>

#include "base/assert.hpp"
#include "base/await.hpp"
#include "core/pause.hpp"
#include "core/scope.hpp"
#include "ops/claim_outcome.hpp"
#include "proxy/derived_key.hpp"
#include "sidecar/message_id.hpp"
#include "sidecar/message_work.hpp"

namespace onceward::sidecar {
namespace {

using messaging::Message;

constexpr Duration wait_for_another{2000};
constexpr Duration uncounted_pause{200};
constexpr Duration uncounted_longest{5000};
constexpr Duration stop_latency{100};

std::uint64_t attempts_before(const Message& message) {
  const std::optional<std::string> text = message.find(attempts_header);
  std::uint64_t count = 0;
  if (!text) return 0;
  const char* end = text->data() + text->size();
  const auto read = std::from_chars(text->data(), end, count);
  return read.ec == std::errc() && read.ptr == end ? count : 0;
}

const Record* record_of(const Outcome& outcome) {
  if (const auto* executed = std::get_if<Executed>(&outcome)) return &executed->record;
  if (const auto* replayed = std::get_if<Replayed>(&outcome)) return &replayed->record;
  if (const auto* rejected = std::get_if<Rejected>(&outcome)) return &rejected->record;
  if (const auto* running = std::get_if<StillRunning>(&outcome)) return &running->record;
  return nullptr;
}

ClaimOutcome claim_outcome(const Outcome& outcome) {
  if (std::holds_alternative<Replayed>(outcome)) return ClaimOutcome::replay;
  if (std::holds_alternative<StillRunning>(outcome)) return ClaimOutcome::in_progress;
  if (const auto* rejected = std::get_if<Rejected>(&outcome)) {
    return claim_outcome(rejected->why);
  }
  return ClaimOutcome::unavailable;
}

RequestOutcome request_outcome(const Verdict& verdict) {
  if (const auto* done = std::get_if<Acknowledge>(&verdict))
    return done->duplicate ? RequestOutcome::replayed : RequestOutcome::executed;
  const std::string_view reason = std::get<DeadLetter>(verdict).reason;
  if (reason == "unknown") return RequestOutcome::unknown;
  return reason == "mismatch" ? RequestOutcome::mismatch : RequestOutcome::rejected;
}

}  // namespace

Handler::Handler(const SidecarContext& context, HandlerRules rules, std::shared_ptr<http::Upstream> service)
    : context_(context), rules_(std::move(rules)), service_(std::move(service)) {}

Task<Handled> Handler::handle(const Message& message, const std::atomic<bool>& stopping) {
  Handled handled;
  const MonoTime began = context_.clock.mono();
  const Result<std::string> id = message_id(message, rules_.id);
  if (!id) {
    handled.verdict = DeadLetter{"no-id", id.error().message};
    context_.metrics.request(rules_.metrics_index, RequestOutcome::rejected, context_.clock.mono() - began);
    co_return handled;
  }
  handled.key_hash = key_hint(*id, rules_.secret);
  const AttemptLimit limit{rules_.attempts, attempts_before(message)};
  std::uint64_t uncounted = 0;
  for (;;) {
    handled.verdict = co_await attempt(message, *id, limit, handled);
    const auto* again = std::get_if<TryAgain>(&handled.verdict);
    if (!again) break;
    if (stopping.load()) co_return handled;
    uncounted = again->counted ? 0 : uncounted + 1;
    const Duration time = again->counted ? pause_after(handled.attempts, rules_.pause)
                                         : pause_after(uncounted, uncounted_pause, uncounted_longest);
    context_.log.info("trying again later", {{"consumer", rules_.target.consumer},
                                             {"reason", again->why},
                                             {"attempt", static_cast<std::int64_t>(handled.attempts)},
                                             {"after_ms", time.count()},
                                             {"operation_id", handled.operation_id},
                                             {"key_hash", handled.key_hash}});
    co_await pause(time, stopping);
    if (stopping.load()) co_return handled;
  }
  context_.metrics.request(rules_.metrics_index, request_outcome(handled.verdict),
                           context_.clock.mono() - began);
  co_return handled;
}

Task<Verdict> Handler::attempt(const Message& message, const std::string& id, AttemptLimit limit,
                               Handled& handled) {
  auto sending = std::make_shared<UpstreamWork>(service_, rules_.policy, rules_.max_response,
                                                UpstreamWork::Request{rules_.target.method, message.body},
                                                context_.metrics.operation(rules_.metrics_index));
  auto work = std::make_shared<MessageWork>(sending, limit);
  const MessageHead head(rules_.target, message, sendable_key(id), context_.random);
  sending->head = &head;
  const Outcome outcome = co_await context_.engine.run(context_.worker, command_for(message, id), work);
  sending->head = nullptr;
  const bool granted = work->attempt() != 0;
  count(outcome, granted);
  if (granted) handled.attempts = work->attempt();
  if (const Record* record = record_of(outcome)) {
    handled.operation_id = to_string(record->operation_id);
    if (!granted) handled.attempts = record->epoch;
  }
  const Epoch seen_from = granted ? handled.attempts : handled.attempts + 1;  // the next one
  co_return judge(outcome, {.number = handled.attempts,
                            .limit = limit.at(seen_from),
                            .exhausted = work->is_exhausted(),
                            .forwards = rules_.policy->on_unknown == OnUnknown::forward});
}

Command Handler::command_for(const Message& message, const std::string& id) const {
  const std::string& name = rules_.target.consumer;
  Command command;
  command.scope = scope_of(std::nullopt, consumer_caller, name, id, rules_.secret);
  const auto print = [this, &message, &name, scope = command.scope](std::uint16_t version) {
    const std::string content_type = content_type_of(message);
    const FingerprintInput input{.operation = name, .content_type = content_type, .body = message.body};
    return fingerprint(version, input, rules_.fingerprint, scope);
  };
  Result<FingerprintResult> printed = print(fingerprint_version);
  ONCEWARD_ASSERT(printed.has_value());
  command.fingerprint = printed->fingerprint;
  RequestInfo request;
  request.operation = name;
  request.key_hint = rules_.hash_keys ? key_hint(id, rules_.secret) : id;
  request.leaves = std::move(printed->leaves);
  request.owner_tag = owner_tag_of(std::nullopt, consumer_caller, rules_.secret);
  command.request = std::make_shared<const RequestInfo>(std::move(request));
  command.policy = rules_.policy;
  command.wait = wait_for_another;
  command.observer = context_.observer;
  command.fingerprint_as = [print](std::uint16_t version) -> Result<Fingerprint> {
    Result<FingerprintResult> as_then = print(version);
    if (!as_then) return as_then.error();
    return as_then->fingerprint;
  };
  return command;
}

// In steps, because nothing can end a sleep.
Task<> Handler::pause(Duration time, const std::atomic<bool>& stopping) {
  const MonoTime until = context_.clock.mono() + time;
  while (!stopping.load() && context_.clock.mono() < until)
    co_await SleepUntil(context_.worker, std::min(until, context_.clock.mono() + stop_latency));
}

void Handler::count(const Outcome& outcome, bool granted) {
  const ClaimOutcome claim = granted ? ClaimOutcome::granted : claim_outcome(outcome);
  context_.metrics.claim(rules_.metrics_index, claim);
  OperationMetrics& operation = context_.metrics.operation(rules_.metrics_index);
  if (claim == ClaimOutcome::replay) operation.replays.add();
  if (claim == ClaimOutcome::mismatch) operation.mismatches.add();
  if (claim == ClaimOutcome::expired) operation.expired.add();
}

}  // namespace onceward::sidecar
