#include "engine/engine.hpp"

#include <utility>

#include "base/await.hpp"
#include "engine/execution.hpp"

namespace onceward {
namespace {

// The word that metrics and observe mode use for what happened, or would have.
std::string_view would_have(const Outcome& outcome) {
  if (std::holds_alternative<Replayed>(outcome)) return "replay";
  if (std::holds_alternative<StillRunning>(outcome)) return "in_progress";
  if (const auto* rejected = std::get_if<Rejected>(&outcome)) {
    switch (rejected->why) {
      case Rejection::mismatch:
        return "mismatch";
      case Rejection::unknown:
        return "unknown";
      case Rejection::expired:
        return "expired";
      case Rejection::not_stored:
        return "not_stored";
      case Rejection::duplicate_fact:
      case Rejection::suspected:
        return "duplicate";
    }
  }
  return {};
}

bool store_could_not_answer(const Outcome& outcome) {
  const auto* failed = std::get_if<StoreFailed>(&outcome);
  return failed && (failed->error.code == Errc::unavailable || failed->error.code == Errc::refused);
}

// False: the work is run all the same, without protection.
bool is_last_word(const Outcome& outcome, const Policy& policy) {
  if (std::holds_alternative<Executed>(outcome)) return true;
  if (policy.mode == Mode::observe && !std::holds_alternative<Unreachable>(outcome)) return false;
  return policy.on_store_failure != OnStoreFailure::open || !store_could_not_answer(outcome);
}

// What this caller makes of what it was told of the key; nothing: it asks again, perhaps as another version.
std::optional<Outcome> judge(News& news, Command& command,
                             const std::function<Result<Fingerprint>(std::uint16_t)>& fingerprint_as) {
  if (TimeUp* seen = std::get_if<TimeUp>(&news)) {
    // What was waited for was the answer of a probe.
    if (seen->record.state == State::unknown) return Rejected{Rejection::unknown, std::move(seen->record)};
    return StillRunning{std::move(seen->record)};
  }
  Settled* settled = std::get_if<Settled>(&news);
  if (!settled) return std::nullopt;  // Again
  Record& record = settled->record;
  const bool forwards = command.policy->on_unknown == OnUnknown::forward;
  if (forwards && record.state == State::unknown && record.fingerprint == command.fingerprint)
    return std::nullopt;
  const Decision decision = decide_duplicate(record, command.fingerprint);
  if (std::holds_alternative<Replay>(decision)) return Replayed{std::move(record)};
  if (const auto* reject = std::get_if<Reject>(&decision)) return Rejected{reject->why, std::move(record)};
  if (const auto* again = std::get_if<CompareAgain>(&decision)) {
    const Result<Fingerprint> as_then = fingerprint_as(again->version);
    if (!as_then) return StoreFailed{{Errc::unreadable, as_then.error().message}};
    command.fingerprint = *as_then;
  }
  return std::nullopt;
}

}  // namespace

Engine::Engine(Store& store, const Clock& clock, Random& random, std::size_t probes_per_second)
    : store_(store),
      clock_(clock),
      random_(random),
      flights_(clock),
      events_(store, clock),
      reconciler_(store, clock, random, events_, probes_per_second) {}

Task<Outcome> Engine::run(Executor& executor, Command command, std::shared_ptr<Work> work) {
  // Not the execution's, which may outlive what it refers to.
  const auto fingerprint_as = std::exchange(command.fingerprint_as, nullptr);
  const Policy& policy = *command.policy;
  const bool observes = policy.mode == Mode::observe;
  MonoTime now = clock_.mono();
  const MonoTime deadline = now + (observes ? Duration::zero() : command.wait);
  for (;;) {
    Waiter waiter(executor, command.fingerprint, deadline, deadline > now);
    auto execution = std::make_unique<Execution>(*this, executor, command, work, now);
    if (flights_.join(execution->flight(), waiter) == Flights::Joined::leads) {
      spawn(execution.release()->lead());  // owns itself from now on
    }
    execution.reset();  // a follower needs none
    News& news = co_await waiter;
    Outcome* const told = std::get_if<Outcome>(&news);
    if (told && is_last_word(*told, policy)) co_return std::move(*told);
    std::optional<Outcome> outcome = told ? std::move(*told) : judge(news, command, fingerprint_as);
    if (!outcome) {
      now = clock_.mono();
      continue;
    }
    if (is_last_word(*outcome, policy)) co_return std::move(*outcome);
    co_return co_await unguarded(std::move(work), observes ? would_have(*outcome) : std::string_view());
  }
}

Task<Outcome> Engine::unguarded(std::shared_ptr<Work> work, std::string_view would_have_been) {
  if (!work->ready()) {
    const Result<Done> prepared = co_await work->prepare();
    if (!prepared) co_return Unreachable{prepared.error().message};
  }
  Effect effect = co_await work->execute({});
  if (NotSent* nothing = std::get_if<NotSent>(&effect)) co_return Unreachable{std::move(nothing->message)};
  co_return Unguarded{std::move(effect), would_have_been};
}

Task<> Engine::probe(Executor& executor, Record record, std::shared_ptr<const Policy> policy, Prober& prober,
                     EngineObserver* observer) {
  Flight flight(record.scope);
  if (!flights_.begin(flight)) co_return;  // whoever is at work on the key will see to it
  if (reconciler_.begin(record, *policy->probe, observer)) {
    flights_.in_progress(flight, record, false);
    (void)co_await reconciler_.attempt(executor, std::move(record), std::move(policy), prober, observer);
  }
  flights_.end(flight, {});
}

Task<std::size_t> Engine::mark_leftovers_unknown(Executor& executor) {
  std::size_t marked = 0;
  for (const Record& record : flights_.running_here()) {
    const UnknownRequest request{fence_of(record), {UnknownCause::shutdown, 0, 0}};
    const Result<Record> done =
        co_await store_call<Record>(executor, [&](auto& reply) { return store_.unknown(request, reply); });
    if (done) ++marked;
  }
  co_return marked;
}

void Engine::start(Executor& executor, Command command, std::shared_ptr<Work> work,
                   std::weak_ptr<Caller> caller) {
  spawn(run_and_tell(executor, std::move(command), std::move(work), std::move(caller)));
}

Task<> Engine::run_and_tell(Executor& executor, Command command, std::shared_ptr<Work> work,
                            std::weak_ptr<Caller> caller) {
  Outcome outcome = co_await run(executor, std::move(command), std::move(work));
  if (const std::shared_ptr<Caller> still_there = caller.lock()) still_there->told(std::move(outcome));
}

}  // namespace onceward
