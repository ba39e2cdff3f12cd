#include "engine/execution.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/await.hpp"
#include "engine/claim_request.hpp"

namespace onceward {
namespace {

// Nobody tells us when another machine's work ends if its wake-up is lost; then this finds out.
constexpr Duration poll_interval{1000};
constexpr std::size_t orphans_max = 1000;
constexpr Duration retry_first{20};
constexpr Duration retry_longest{1000};

bool is_in_progress(State state) { return state == State::claimed || state == State::processing; }

bool is_worth_repeating(const Error& error) {
  return error.code == Errc::unavailable || error.code == Errc::refused;
}

// Of the store itself; what does not exist or is not allowed is an answer.
bool is_failure(const Error& error) { return is_worth_repeating(error) || error.code == Errc::unreadable; }

// Calls a store verb and tells the observer how long it took.
template <class T, class Start>
Task<Result<T>> timed(EngineObserver* observer, const Clock& clock, Executor& executor, std::string_view verb,
                      Start start) {
  const MonoTime began = clock.mono();
  Result<T> result = co_await store_call<T>(executor, std::move(start));
  if (observer) observer->store_answered(verb, clock.mono() - began, !result && is_failure(result.error()));
  co_return result;
}

bool may_run_again(const Record& record, const Policy& policy) {
  switch (record.state) {
    case State::released:
    case State::claimed:
      return true;
    case State::unknown:
      return policy.on_unknown == OnUnknown::forward;
    default:
      return false;
  }
}

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

// A claim whose fate was never learned may stand in the store with nobody behind it. Nothing was sent
// for it, so whoever finds it under its owner's name may free it; until then it blocks its key. Counted as
// at work for as long: its frame waits on the executor, which must not be destroyed under it.
Task<> free_orphan(Executor& executor, const Clock& clock, Store& store, ClaimRequest request,
                   std::atomic<std::size_t>& at_work) {
  struct AtWork {
    explicit AtWork(std::atomic<std::size_t>& count) : count_(count) { count_.fetch_add(1); }
    ~AtWork() { count_.fetch_sub(1); }
    std::atomic<std::size_t>& count_;
  } counted(at_work);
  const MonoTime give_up = clock.mono() + request.lease;
  for (Duration pause = retry_first; clock.mono() < give_up; pause = std::min(pause * 2, retry_longest)) {
    co_await SleepUntil(executor, clock.mono() + pause);
    const Result<Record> found = co_await store_call<Record>(
        executor, [&](auto& reply) { return store.lookup(request.scope, reply); });
    if (!found && found.error().code != Errc::not_found) continue;
    if (!found || found->owner != request.owner) continue;  // a slow write may still arrive: look again
    const ReleaseRequest release{fence_of(*found), may_unbind(request, found->epoch)};
    const Result<Record> freed =
        co_await store_call<Record>(executor, [&](auto& reply) { return store.release(release, reply); });
    if (freed || !is_worth_repeating(freed.error())) co_return;
  }
}

}  // namespace

Engine::Execution::Execution(Engine& engine, Executor& executor, const Command& command,
                             std::shared_ptr<Work> work)
    : engine_(engine),
      executor_(executor),
      command_(command),
      work_(std::move(work)),
      flight_(command.scope),
      // Without the lease the store's word counts, not ours: duplicates must ask it from now on.
      keeper_(executor, engine.clock_, engine.store_, [this] { engine_.flights_.end(flight_, Again{}); }) {
  engine_.executions_.fetch_add(1, std::memory_order_relaxed);
}

Engine::Execution::~Execution() { engine_.executions_.fetch_sub(1, std::memory_order_relaxed); }

Task<> Engine::Execution::lead() {
  for (;;) {
    std::variant<ClaimReply, Outcome> obtained = co_await obtain();
    if (Outcome* outcome = std::get_if<Outcome>(&obtained)) {
      work_->stand_down();
      leave_admission();
      finish(*outcome, *outcome);
      co_return;
    }
    ClaimReply& reply = std::get<ClaimReply>(obtained);
    if (reply.granted) {
      if (reply.standing && !command_.confirmed) like_ = reply.standing->operation_id;
      co_await execute(std::move(reply.record));
      co_return;
    }
    work_->stand_down();
    leave_admission();
    if (reply.standing) {
      // Followers ask for themselves: a request that differs may state another fact.
      finish(Again{}, co_await met(*reply.standing));
      co_return;
    }
    const bool probes = may_probe(reply.record);
    if (!is_in_progress(reply.record.state) && !probes) {
      finish(Settled{reply.record}, Settled{reply.record});
      co_return;
    }
    engine_.flights_.in_progress(flight_, reply.record, false);
    engine_.flights_.leader_waits(flight_, reply.record);
    if (probes) {
      co_await probe(reply.record);  // also when nobody can wait for it: the next retry finds the answer
    } else {
      if (!engine_.flights_.has_waiters(flight_)) break;
      co_await watch();
    }
    // Who was told that it differs or that its time is up must not execute afterwards: whoever still
    // waits goes on with its own work.
    if (!engine_.flights_.has_leader(flight_)) break;
    engine_.flights_.leader_stays(flight_);
  }
  engine_.flights_.end(flight_, Again{});
}

void Engine::Execution::finish(const News& followers, News leader) {
  leave_admission();
  // First out of the table, then the answer: a retry that follows the answer must find the store's word.
  engine_.flights_.end(flight_, followers);
  engine_.flights_.tell_leader(flight_, std::move(leader));
}

Task<std::variant<ClaimReply, Outcome>> Engine::Execution::obtain() {
  if (!work_->ready()) {
    // Getting ready may fail or take long, and a replay needs none of it: look before connecting.
    const Result<Record> standing =
        co_await timed<Record>(command_.observer, engine_.clock_, executor_, "lookup",
                               [this](auto& reply) { return engine_.store_.lookup(command_.scope, reply); });
    if (!standing && standing.error().code != Errc::not_found)
      co_return Outcome(StoreFailed{standing.error()});
    if (standing && !may_run_again(*standing, *command_.policy)) co_return ClaimReply{false, *standing};
    const Result<Done> prepared = co_await work_->prepare();
    if (!prepared) co_return Outcome(Unreachable{prepared.error().message});
  }
  if (command_.admission) {
    if (auto in_the_way = co_await admit()) co_return std::move(*in_the_way);
  }
  Result<ClaimReply> reply = co_await claim();
  if (command_.admission && reply && reply->granted) command_.admission->granted(reply->record.epoch == 1);
  if (!reply) co_return Outcome(StoreFailed{reply.error()});
  co_return std::move(*reply);
}

Task<std::optional<std::variant<ClaimReply, Outcome>>> Engine::Execution::admit() {
  std::optional<Duration> wait = command_.admission->enter();
  if (!wait) co_return std::nullopt;
  // No room for a new key: but is it one? A key that exists costs nothing to answer.
  const Result<Record> standing =
      co_await timed<Record>(command_.observer, engine_.clock_, executor_, "lookup",
                             [this](auto& reply) { return engine_.store_.lookup(command_.scope, reply); });
  if (!standing && standing.error().code != Errc::not_found) co_return Outcome(StoreFailed{standing.error()});
  if (standing) {
    if (!may_run_again(*standing, *command_.policy)) co_return ClaimReply{false, *standing};
    wait = command_.admission->enter_again();
    if (!wait) co_return std::nullopt;
  }
  co_return Outcome(OverQuota{*wait});
}

void Engine::Execution::leave_admission() {
  if (command_.admission) command_.admission->leave();
}

Task<Result<ClaimReply>> Engine::Execution::claim() {
  const Policy& policy = *command_.policy;
  request_ = claim_request(command_, State::processing, engine_.clock_, engine_.random_);
  asked_at_ = engine_.clock_.mono();
  const auto ask = [this] {
    return timed<ClaimReply>(command_.observer, engine_.clock_, executor_, "claim",
                             [this](auto& reply) { return engine_.store_.claim(request_, reply); });
  };
  Result<ClaimReply> reply = co_await ask();
  // I10: it may have been written all the same. Asked again under the same owner, a claim that stands is
  // found to be ours, and one that does not is made.
  if (!reply && reply.error().code == Errc::unavailable) {
    reply = co_await ask();
    // It was written, but we learned of it only after its lease: nothing was sent, and nothing may be now. It
    // is freed at once or never: later, the same words may stand for another life of the key.
    if (reply && !reply->granted && reply->record.owner == request_.owner &&
        reply->record.state == State::unknown) {
      const ReleaseRequest release{fence_of(reply->record), may_unbind(request_, reply->record.epoch)};
      (void)co_await store_call<Record>(executor_,
                                        [&](auto& freed) { return engine_.store_.release(release, freed); });
      co_return Error{Errc::unavailable, "the claim was answered after its lease had ended"};
    }
    const bool closed = policy.on_store_failure == OnStoreFailure::closed;
    // Beyond a crowd of them the store is down for good; their keys then wait for the lease.
    if (!reply && closed && engine_.executions() < orphans_max) {
      spawn(free_orphan(executor_, engine_.clock_, engine_.store_, request_, engine_.executions_));
    }
  }
  co_return reply;
}

Task<Outcome> Engine::Execution::met(MarkHolder holder) {
  Result<Record> found =
      co_await timed<Record>(command_.observer, engine_.clock_, executor_, "lookup",
                             [&](auto& reply) { return engine_.store_.lookup(holder.scope, reply); });
  if (!found && found.error().code != Errc::not_found) co_return StoreFailed{found.error()};
  Record record;
  record.scope = holder.scope;
  record.operation_id = holder.operation_id;
  if (found && found->operation_id == holder.operation_id) record = std::move(*found);

  const Policy& policy = *command_.policy;
  const bool fact = holder.kind == MarkKind::unique;
  const bool replays = fact ? policy.unique && policy.unique->on_conflict == OnConflict::replay
                            : policy.suspect && policy.suspect->action == SuspectAction::replay;
  // Only to the one whose answer it is (I8).
  const bool is_own = record.request && record.request->owner_tag == command_.request->owner_tag;
  if (replays && is_own && record.response && !record.response->body_omitted)
    co_return Replayed{std::move(record), !fact};
  co_return Rejected{fact ? Rejection::duplicate_fact : Rejection::suspected, std::move(record)};
}

// Until the store says that the key may have changed, or the slow poll comes round.
class Engine::Execution::Change : Completion, Timer {
 public:
  Change(Executor& executor, Store& store, const Scope& scope, MonoTime poll_at)
      : executor_(executor), store_(store), scope_(scope), poll_at_(poll_at) {
    Completion::run = [](Completion* self) { static_cast<Change*>(self)->on_posted(); };
    Timer::run = [](Timer* self) { static_cast<Change*>(self)->on_poll(); };
  }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    waiting_ = waiting;
    executor_.arm(*this, poll_at_);
    store_.watch(scope_, [this] {
      if (!posted_.exchange(true)) executor_.post(this);
    });
  }
  void await_resume() noexcept {}

 private:
  void on_posted() {
    executor_.cancel(*this);
    store_.unwatch(scope_);
    waiting_.resume();
  }
  void on_poll() {
    store_.unwatch(scope_);
    if (!posted_) waiting_.resume();  // else the posted completion will, and must still find this object
  }

  Executor& executor_;
  Store& store_;
  const Scope& scope_;
  const MonoTime poll_at_;
  std::atomic<bool> posted_{false};
  std::coroutine_handle<> waiting_;
};

Task<> Engine::Execution::watch() {
  co_await Change(executor_, engine_.store_, command_.scope, engine_.clock_.mono() + poll_interval);
}

bool Engine::Execution::may_probe(const Record& record) {
  const Policy& policy = *command_.policy;
  return record.state == State::unknown && policy.on_unknown == OnUnknown::probe &&
         policy.mode == Mode::enforce && policy.probe && command_.prober &&
         record.fingerprint == command_.fingerprint &&
         engine_.reconciler_.begin(record, *policy.probe, command_.observer);
}

Task<> Engine::Execution::probe(const Record& record) {
  const ProbeOutcome outcome = co_await engine_.reconciler_.attempt(executor_, record, command_.policy,
                                                                    *command_.prober, command_.observer);
  if (outcome == ProbeOutcome::applied || outcome == ProbeOutcome::not_applied)
    engine_.flights_.changes(flight_);
  // Another machine is asking: what it learns is worth waiting for as well.
  if (outcome == ProbeOutcome::elsewhere && engine_.flights_.has_waiters(flight_)) co_await watch();
}

Task<> Engine::Execution::execute(Record record) {
  const Policy& policy = *command_.policy;
  const MonoTime hold_until = asked_at_ + policy.max_hold;
  keeper_.start(fence_of(record), policy.lease, asked_at_, hold_until);
  engine_.flights_.in_progress(flight_, record, true);
  if (!keeper_.is_held()) {
    // Paused past the lease before anything was sent: others may think that we are gone.
    work_->stand_down();
    const bool unbind = may_unbind(request_, record.epoch);
    (void)co_await release({fence_of(record), unbind});  // if it fails, the key is held as unknown: safe
    co_await keeper_.stop();
    const Outcome lost = StoreFailed{{Errc::stale, "the lease ended before the request could be sent"}};
    finish(Again{}, lost);
    co_return;
  }
  Effect effect =
      co_await work_->execute({record.operation_id, record.epoch, hold_until, record.owner,
                               std::chrono::duration_cast<Duration>(record.claimed_at - record.created_at)});
  if (Answer* answer = std::get_if<Answer>(&effect)) {
    co_await answered(std::move(record), std::move(*answer));
  } else if (NotSent* nothing = std::get_if<NotSent>(&effect)) {
    co_await not_sent(std::move(record), std::move(*nothing));
  } else {
    co_await no_answer(std::move(record), std::get<NoAnswer>(effect));
  }
}

template <class Write>
Task<Result<Record>> Engine::Execution::write_outcome(const Executed& told_if_it_fails, Write write) {
  Result<Record> written = co_await write();
  if (written || !is_worth_repeating(written.error())) co_return written;
  written = co_await write();  // idempotent by fence: a lost reply is told apart by asking again (I10)
  Duration pause = retry_first;
  while (!written && is_worth_repeating(written.error())) {
    // CONTRACT 5.6: the caller gets the true answer, and the write is tried while the lease is held.
    // Then the record becomes unknown by itself (I4).
    engine_.flights_.tell_leader(flight_, Outcome(told_if_it_fails));
    if (!keeper_.is_held()) break;
    co_await SleepUntil(executor_, std::min(engine_.clock_.mono() + pause, keeper_.lease_until()));
    pause = std::min(pause * 2, retry_longest);
    written = co_await write();
  }
  co_return written;
}

Task<> Engine::Execution::answered(Record record, Answer answer) {
  const Fence fence = fence_of(record);
  const int status = answer.response->status;
  const Executed told{.record = std::move(record), .effect = answer, .stored = false, .like = like_};
  Evidence seen{UnknownCause::store_failure, static_cast<std::uint16_t>(status),
                answer.response->body.size()};
  Result<Record> written = Error{};
  News followers = Again{};
  switch (answer.outcome) {
    case OutcomeClass::replay: {
      const State as = status < 400 ? State::succeeded : State::failed;
      const auto events = engine_.events_.of(told.record, *command_.policy, as, answer.response.get(),
                                             answer.result.get(), answer.emitted.get());
      written = co_await write_outcome(
          told, [&] { return complete({fence, as, answer.response, answer.ttl, answer.result, events}); });
      if (written) followers = Settled{*written};
      break;
    }
    case OutcomeClass::retry:
      written = co_await write_outcome(told, [&] { return release({fence, false}); });
      break;
    case OutcomeClass::unknown: {
      // The status alone, or the upstream's own word (Onceward-Outcome)?
      const bool by_status = command_.policy->outcomes.of(status) == OutcomeClass::unknown;
      seen.cause = by_status ? UnknownCause::upstream_status : UnknownCause::declared;
      written = co_await write_outcome(told, [&] { return mark_unknown({fence, seen}); });
      if (written) followers = Settled{*written};
      break;
    }
  }
  co_await keeper_.stop();
  if (!written && !is_worth_repeating(written.error())) {
    if (const std::optional<Record> standing = co_await decided_otherwise(fence)) {
      finish(Settled{*standing}, stored_instead(*standing, fence, std::move(answer)));
      co_return;
    }
  }
  Executed outcome{.record = written ? std::move(*written) : told.record,
                   .effect = std::move(answer),
                   .stored = written.has_value(),
                   .like = like_};
  const bool lost_by_the_store = !written && is_worth_repeating(written.error());
  finish(followers, Outcome(std::move(outcome)));
  if (lost_by_the_store) co_await store_failed(told.record, seen);
}

// Refused by the fence: the service itself, a probe, an operator or a higher epoch decided meanwhile. The
// stored outcome is the one that every retry will see, so it is also this caller's, if there is one.
Task<std::optional<Record>> Engine::Execution::decided_otherwise(const Fence& fence) {
  Result<Record> standing =
      co_await timed<Record>(command_.observer, engine_.clock_, executor_, "lookup",
                             [this](auto& reply) { return engine_.store_.lookup(command_.scope, reply); });
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
  (void)co_await write_outcome(told, [&] { return release({fence_of(record), unbind}); });
  co_await keeper_.stop();
  finish(Again{}, Outcome(Unreachable{std::move(nothing.message)}));
}

Task<> Engine::Execution::no_answer(Record record, NoAnswer lost) {
  const Executed told{.record = record, .effect = lost, .stored = false, .like = like_};
  const Result<Record> written =
      co_await write_outcome(told, [&] { return mark_unknown({fence_of(record), lost.evidence}); });
  co_await keeper_.stop();
  if (!written && !is_worth_repeating(written.error())) {
    if (const std::optional<Record> standing = co_await decided_otherwise(fence_of(record))) {
      finish(Settled{*standing}, stored_instead(*standing, fence_of(record), lost));
      co_return;
    }
  }
  News followers = written ? News(Settled{*written}) : News(Again{});
  finish(followers, Outcome(Executed{.record = written ? *written : record,
                                     .effect = lost,
                                     .stored = written.has_value(),
                                     .like = like_}));
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
  Result<Record> completed =
      co_await timed<Record>(command_.observer, engine_.clock_, executor_, "complete",
                             [&](auto& reply) { return engine_.store_.complete(request, reply); });
  if (completed) engine_.events_.written(request.fence.scope, request.events);
  co_return completed;
}

Task<Result<Record>> Engine::Execution::release(ReleaseRequest request) {
  co_return co_await timed<Record>(command_.observer, engine_.clock_, executor_, "release",
                                   [&](auto& reply) { return engine_.store_.release(request, reply); });
}

Task<Result<Record>> Engine::Execution::mark_unknown(UnknownRequest request) {
  Result<Record> marked =
      co_await timed<Record>(command_.observer, engine_.clock_, executor_, "unknown",
                             [&](auto& reply) { return engine_.store_.unknown(request, reply); });
  if (marked && command_.observer) command_.observer->became_unknown(*marked, request.evidence.cause);
  co_return marked;
}

}  // namespace onceward
