#include "engine/reconciler.hpp"

#include <algorithm>

#include "base/await.hpp"
#include "core/scope.hpp"
#include "engine/engine.hpp"

namespace onceward {
namespace {

// For the store's answers before and after the question.
constexpr Duration lease_margin{5000};
// Long enough that nobody finds the record half gone, short enough to leave nothing behind.
constexpr Duration released_ttl{1000};

// The right to ask about one operation: a record like any other, so that any store can decide who has it.
// It is only claimed, never dispatched: a prober that dies leaves a lease that ends, not an unknown.
Scope right_to_ask_about(const OperationId& operation) {
  return scope_of(std::nullopt, std::nullopt, probe_operation, to_string(operation), "");
}

ClaimRequest claim_of_right(const Scope& scope, Duration lease, Timestamp now, Random& random) {
  std::array<std::uint8_t, 18> chance;
  random.fill(chance);
  ClaimRequest request;
  request.scope = scope;
  std::copy_n(chance.begin(), request.owner.data.size(), request.owner.data.begin());
  request.operation_id =
      make_operation_id(request.scope, now, static_cast<std::uint16_t>(chance[16] | chance[17] << 8));
  request.start = State::claimed;
  request.request =
      std::make_shared<const RequestInfo>(RequestInfo{"", std::string(probe_operation), "", {}});
  request.lease = lease;
  request.max_hold = lease;
  request.ttl = released_ttl;
  return request;
}

std::uint16_t chance_of(Random& random) {
  std::array<std::uint8_t, 2> bytes;
  random.fill(bytes);
  return static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8);
}

}  // namespace

std::string_view to_string(ProbeOutcome outcome) {
  switch (outcome) {
    case ProbeOutcome::applied:
      return "applied";
    case ProbeOutcome::not_applied:
      return "not_applied";
    case ProbeOutcome::cannot_tell:
      return "cannot_tell";
    case ProbeOutcome::elsewhere:
      return "elsewhere";
    case ProbeOutcome::gave_up:
      return "gave_up";
  }
  return {};
}

bool Reconciler::begin(const Record& record, const ProbePolicy& policy, EngineObserver* observer) {
  ProbeSchedule::Verdict verdict;
  {
    std::lock_guard lock(mutex_);
    verdict = schedule_.begin(record, policy, {clock_.now(), clock_.mono()});
  }
  if (verdict == ProbeSchedule::Verdict::gives_up && observer)
    observer->probed(record, ProbeOutcome::gave_up);
  return verdict == ProbeSchedule::Verdict::go;
}

Task<ProbeOutcome> Reconciler::attempt(Executor& executor, Record record,
                                       std::shared_ptr<const Policy> policy, Prober& prober,
                                       EngineObserver* observer) {
  const ProbeOutcome outcome = co_await ask_alone(executor, record, *policy, prober);
  const std::uint16_t chance = chance_of(random_);
  {
    std::lock_guard lock(mutex_);
    if (outcome == ProbeOutcome::applied || outcome == ProbeOutcome::not_applied) {
      schedule_.settled(record.scope);
    } else {
      schedule_.not_settled(record.scope, *policy->probe, clock_.mono(), chance);
    }
  }
  if (observer) observer->probed(record, outcome);
  co_return outcome;
}

Task<ProbeOutcome> Reconciler::ask_alone(Executor& executor, const Record& record, const Policy& policy,
                                         Prober& prober) {
  const Duration lease = prober.time_limit() + lease_margin;
  const ClaimRequest right =
      claim_of_right(right_to_ask_about(record.operation_id), lease, clock_.now(), random_);
  const Result<ClaimReply> claimed =
      co_await store_call<ClaimReply>(executor, [&](auto& reply) { return store_.claim(right, reply); });
  // A claim whose fate is not known is left to its lease: asking later is always safe.
  if (!claimed || !claimed->granted) co_return ProbeOutcome::elsewhere;
  const ProbeOutcome outcome = co_await ask_and_resolve(executor, record, policy, prober);
  spawn(give_up_right(executor, {fence_of(claimed->record), true}));
  co_return outcome;
}

// Not awaited: whoever waits for the outcome has it, and must not wait for a second write. If it fails, the
// lease ends by itself.
Task<> Reconciler::give_up_right(Executor& executor, ReleaseRequest right) {
  at_work_.fetch_add(1, std::memory_order_relaxed);
  (void)co_await store_call<Record>(executor, [&](auto& reply) { return store_.release(right, reply); });
  at_work_.fetch_sub(1, std::memory_order_relaxed);
}

Task<ProbeOutcome> Reconciler::ask_and_resolve(Executor& executor, const Record& record, const Policy& policy,
                                               Prober& prober) {
  // Whoever had the right before us may have settled it meanwhile: then there is nothing to ask.
  const Result<Record> standing =
      co_await store_call<Record>(executor, [&](auto& reply) { return store_.lookup(record.scope, reply); });
  if (!standing || standing->state != State::unknown || standing->epoch != record.epoch ||
      standing->operation_id != record.operation_id) {
    co_return ProbeOutcome::elsewhere;
  }
  const ProbeAnswer answer = co_await prober.ask(*standing, policy);
  ResolveRequest request{record.scope, record.operation_id, record.epoch, State::released, nullptr};
  if (const auto* applied = std::get_if<Applied>(&answer)) {
    request.as = applied->response->status < 400 ? State::succeeded : State::failed;
    request.response = applied->response;
    request.result = applied->result;
    request.events =
        events_.of(*standing, policy, request.as, applied->response.get(), applied->result.get());
    co_return co_await resolve(executor, request) ? ProbeOutcome::applied : ProbeOutcome::elsewhere;
  }
  if (std::holds_alternative<NotApplied>(answer)) {
    co_return co_await resolve(executor, request) ? ProbeOutcome::not_applied : ProbeOutcome::elsewhere;
  }
  co_return ProbeOutcome::cannot_tell;
}

Task<bool> Reconciler::resolve(Executor& executor, const ResolveRequest& request) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Result<Record> resolved =
        co_await store_call<Record>(executor, [&](auto& reply) { return store_.resolve(request, reply); });
    if (resolved) {
      events_.written(request.scope, request.events);
      co_return true;
    }
    if (resolved.error().code == Errc::unavailable) continue;
    // Another epoch, or decided already: a late answer or an operator was faster, and theirs stands (I3),
    // unless it was ourselves, and only the reply was lost (I10).
    co_return attempt > 0 && co_await is_resolved(executor, request);
  }
  co_return false;  // asked again later; if it was written after all, there is nothing left to ask
}

Task<bool> Reconciler::is_resolved(Executor& executor, const ResolveRequest& request) {
  const Result<Record> standing =
      co_await store_call<Record>(executor, [&](auto& reply) { return store_.lookup(request.scope, reply); });
  co_return standing && standing->operation_id == request.operation_id && standing->epoch == request.epoch &&
      standing->state == request.as && standing->owner.is_zero();
}

Task<> Reconciler::free_lost_rights(Executor& executor) {
  ListRequest page{.state = State::claimed, .operation = std::string(probe_operation)};
  do {
    const Result<ListReply> found =
        co_await store_call<ListReply>(executor, [&](auto& reply) { return store_.list(page, reply); });
    if (!found) co_return;
    for (const Record& right : found->records) {
      if (clock_.now() < right.lease_until) continue;
      const ClaimRequest mine = claim_of_right(right.scope, lease_margin, clock_.now(), random_);
      const Result<ClaimReply> claimed =
          co_await store_call<ClaimReply>(executor, [&](auto& reply) { return store_.claim(mine, reply); });
      if (claimed && claimed->granted) co_await give_up_right(executor, {fence_of(claimed->record), true});
    }
    page.cursor = found->cursor;
  } while (!page.cursor.empty());
}

void Reconciler::forget_idle() {
  std::lock_guard lock(mutex_);
  schedule_.forget_idle(clock_.mono());
}

}  // namespace onceward
