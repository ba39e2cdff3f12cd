// How an execution ends: what came back is written down, whatever it is and however the store behaves.
#include <algorithm>

#include "engine/claim_request.hpp"
#include "engine/execution.hpp"
#include "engine/execution_steps.hpp"

namespace onceward {
namespace {

// What the caller is told when another outcome is stored than its work came back with. One stored under our
// own claim is the work's own: it was committed together with the effect, so it is true whatever became of
// the answer on its way.
Outcome stored_instead(const Record& standing, const Fence& fence, Effect came_back) {
  if (standing.epoch != fence.epoch || standing.owner != fence.owner) return Replayed{standing};
  const Answer* answer = std::get_if<Answer>(&came_back);
  const bool is_same = answer && answer->response->status == standing.response->status &&
                       !answer->response->body_omitted && answer->response->body == standing.response->body;
  if (is_same) return Executed{standing, std::move(came_back)};
  return Executed{standing, Answer{.response = standing.response}, true, true};
}

}  // namespace

Task<> Engine::Execution::ended(Effect effect, std::optional<Result<Record>> tried) {
  Record record = flight_.record();
  if (Answer* answer = std::get_if<Answer>(&effect)) {
    co_await answered(std::move(record), std::move(*answer), std::move(tried));
  } else if (NotSent* nothing = std::get_if<NotSent>(&effect)) {
    if (!keeper_.is_held()) co_return co_await lease_lost();
    co_await not_sent(std::move(record), std::move(*nothing));
  } else {
    co_await no_answer(std::move(record), std::get<NoAnswer>(effect));
  }
}

template <class Write>
Task<Result<Record>> Engine::Execution::write_outcome(const Executed& told_if_it_fails,
                                                      Result<Record> written, Write write) {
  if (written || !is_worth_repeating(written.error())) co_return written;
  written = co_await write();  // idempotent by fence: a lost reply is told apart by asking again (I10)
  Duration pause = retry_first;
  while (!written && is_worth_repeating(written.error())) {
    // CONTRACT 5.6: the caller gets the true answer, and the write is tried while the lease is held.
    // Then the record becomes unknown by itself (I4).
    engine_.flights_.tell_leader<Outcome>(flight_, told_if_it_fails);
    if (!keeper_.is_held()) break;
    co_await SleepUntil(executor_, std::min(engine_.clock_.mono() + pause, keeper_.lease_until()));
    pause = std::min(pause * 2, retry_longest);
    written = co_await write();
  }
  co_return written;
}

Task<> Engine::Execution::answered(Record record, Answer answer, std::optional<Result<Record>> tried) {
  const Fence fence = fence_of(record);
  const int status = answer.response->status;
  const Executed told{.record = std::move(record), .effect = answer, .stored = false, .like = like_};
  Evidence seen{UnknownCause::store_failure, static_cast<std::uint16_t>(status),
                answer.response->body.size()};
  Result<Record> written = Error{};
  switch (answer.outcome) {
    case OutcomeClass::replay:
      written = co_await write_outcome(told, std::move(*tried), [&] { return complete(outcome_); });
      break;
    case OutcomeClass::retry:
      written = co_await write_outcome(told, co_await release({fence, false}),
                                       [&] { return release({fence, false}); });
      break;
    case OutcomeClass::unknown: {
      // The status alone, or the upstream's own word (Onceward-Outcome)?
      const bool by_status = command_.policy->outcomes.of(status) == OutcomeClass::unknown;
      seen.cause = by_status ? UnknownCause::upstream_status : UnknownCause::declared;
      written = co_await write_outcome(told, co_await mark_unknown({fence, seen}),
                                       [&] { return mark_unknown({fence, seen}); });
      break;
    }
  }
  co_await keeper_.stop();
  if (!written && !is_worth_repeating(written.error())) {
    if (const std::optional<Record> standing = co_await decided_otherwise(fence)) {
      finish<Outcome>({.settled = &*standing}, stored_instead(*standing, fence, std::move(answer)));
      co_return;
    }
  }
  Executed outcome{.record = written ? std::move(*written) : told.record,
                   .effect = std::move(answer),
                   .stored = written.has_value(),
                   .like = like_};
  const bool lost_by_the_store = !written && is_worth_repeating(written.error());
  const bool settled = written && answer.outcome != OutcomeClass::retry;
  finish<Outcome>({.settled = settled ? &outcome.record : nullptr}, std::move(outcome));
  if (lost_by_the_store) co_await store_failed(told.record, seen);
}

// Refused by the fence: the service itself, a probe, an operator or a higher epoch decided meanwhile. The
// stored outcome is the one that every retry will see, so it is also this caller's, if there is one.
Task<std::optional<Record>> Engine::Execution::decided_otherwise(const Fence& fence) {
  Result<Record>& standing = co_await timed_lookup(command_.scope);
  // Another life of the key may belong to another request; its answer is not ours.
  if (!standing || !standing->response || standing->operation_id != fence.operation_id)
    co_return std::nullopt;
  co_return std::move(*standing);
}

// The lease is over and the outcome was never stored: the record is unknown by itself (I4). Whoever finds it
// should not have to guess that its owner died, so the owner says what it saw as soon as the store listens.
Task<> Engine::Execution::store_failed(const Record& record, const Evidence& seen) {
  const MonoTime give_up = engine_.clock_.mono() + command_.policy->lease;
  for (Duration pause = retry_first; engine_.clock_.mono() < give_up;
       pause = std::min(pause * 2, retry_longest)) {
    const Result<Record> marked = co_await mark_unknown({fence_of(record), seen});
    if (marked || !is_worth_repeating(marked.error())) co_return;
    co_await SleepUntil(executor_, engine_.clock_.mono() + pause);
  }
  if (command_.observer) command_.observer->became_unknown(record, seen.cause);
}

Task<> Engine::Execution::not_sent(Record record, NotSent nothing) {
  const Executed told{record, nothing, false};
  const bool unbind = may_unbind(request_, record.epoch);
  const ReleaseRequest request{fence_of(record), unbind};
  (void)co_await write_outcome(told, co_await release(request), [&] { return release(request); });
  co_await keeper_.stop();
  finish<Outcome>({}, Unreachable{std::move(nothing.message)});
}

Task<> Engine::Execution::no_answer(Record record, NoAnswer lost) {
  const Executed told{.record = record, .effect = lost, .stored = false, .like = like_};
  const UnknownRequest request{fence_of(record), lost.evidence};
  const Result<Record> written =
      co_await write_outcome(told, co_await mark_unknown(request), [&] { return mark_unknown(request); });
  co_await keeper_.stop();
  if (!written && !is_worth_repeating(written.error())) {
    if (const std::optional<Record> standing = co_await decided_otherwise(fence_of(record))) {
      finish<Outcome>({.settled = &*standing}, stored_instead(*standing, fence_of(record), lost));
      co_return;
    }
  }
  finish<Outcome>({.settled = written ? &*written : nullptr}, Executed{.record = written ? *written : record,
                                                                       .effect = lost,
                                                                       .stored = written.has_value(),
                                                                       .like = like_});
  co_await listen_on(record);
  if (!written && is_worth_repeating(written.error())) co_await store_failed(record, lost.evidence);
}

// The answer may still come: while the key is held as unknown, a late whole answer settles it.
Task<> Engine::Execution::listen_on(const Record& record) {
  const std::optional<Answer> late = co_await work_->late();
  if (!late || late->outcome == OutcomeClass::unknown) co_return;
  const MonoTime give_up = engine_.clock_.mono() + command_.policy->lease;
  const State as = late->response->status < 400 ? State::succeeded : State::failed;
  const auto events = engine_.events_.of(record, *command_.policy, as, late->response.get(),
                                         late->result.get(), late->emitted.get());
  Duration pause = retry_first;
  for (;;) {
    Result<Record> written = Error{};
    if (late->outcome == OutcomeClass::retry) {
      written = co_await release({fence_of(record), false});
    } else {
      written = co_await complete({fence_of(record), as, late->response, late->ttl, late->result, events});
    }
    if (written || !is_worth_repeating(written.error()) || engine_.clock_.mono() >= give_up) co_return;
    co_await SleepUntil(executor_, engine_.clock_.mono() + pause);
    pause = std::min(pause * 2, retry_longest);
  }
}

Task<Result<Record>> Engine::Execution::complete(CompleteRequest request) {
  Result<Record>& completed = co_await timed_complete(request);
  if (completed) engine_.events_.written(request.fence.scope, request.events);
  co_return std::move(completed);
}

Task<Result<Record>> Engine::Execution::release(ReleaseRequest request) {
  co_return std::move(co_await timed(record_, "release", engine_.clock_.mono(),
                                     [&](auto& reply) { return engine_.store_.release(request, reply); }));
}

Task<Result<Record>> Engine::Execution::mark_unknown(UnknownRequest request) {
  Result<Record>& marked = co_await timed(record_, "unknown", engine_.clock_.mono(), [&](auto& reply) {
    return engine_.store_.unknown(request, reply);
  });
  if (marked && command_.observer) command_.observer->became_unknown(*marked, request.evidence.cause);
  co_return std::move(marked);
}

}  // namespace onceward
