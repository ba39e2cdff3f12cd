#include "engine/execution.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "engine/claim_request.hpp"
#include "engine/execution_steps.hpp"

namespace onceward {
namespace {

// Nobody tells us when another machine's work ends if its wake-up is lost; then this finds out.
constexpr Duration poll_interval{1000};
constexpr std::size_t orphans_max = 1000;

bool is_in_progress(State state) { return state == State::claimed || state == State::processing; }

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
                             std::shared_ptr<Work> work, MonoTime now)
    : engine_(engine),
      executor_(executor),
      command_(command),
      work_(std::move(work)),
      flight_(command.scope),
      // Without the lease the store's word counts, not ours: duplicates must ask it from now on.
      keeper_(executor, engine.clock_, engine.store_, [this] { engine_.flights_.end(flight_, {}); }),
      asked_at_(now),
      claimed_(executor),
      record_(executor) {
  engine_.executions_.fetch_add(1, std::memory_order_relaxed);
}

Engine::Execution::~Execution() { engine_.executions_.fetch_sub(1, std::memory_order_relaxed); }

Task<> Engine::Execution::lead() {
  const std::unique_ptr<Execution> self(this);
  for (;;) {
    const bool ready = (work_->ready() && !command_.admission) || co_await get_ready();
    if (ready) {
      request_ = claim_request(command_, State::processing, engine_.clock_.at(asked_at_), engine_.random_);
      const Result<ClaimReply>& reply = co_await timed_claim(asked_at_);
      if (!reply && reply.error().code == Errc::unavailable) co_await claim_again();
      if (!reply) failure_ = StoreFailed{reply.error()};
    }
    if (!failure_ && claimed_.value->granted) break;
    if (settles() || !co_await waits()) co_return;
    asked_at_ = engine_.clock_.mono();
  }
  begin_execution();
  co_await RoundEnd(executor_, Leaving::request);
  const MonoTime now = engine_.clock_.mono();
  if (!keeper_.is_held(now)) co_return co_await lease_lost();
  const Record& record = flight_.record();
  Effect effect = co_await work_->execute(
      {record.operation_id, record.epoch, hold_until_, record.owner,
       std::chrono::duration_cast<Duration>(record.claimed_at - record.created_at), now, &keeper_});
  Answer* const answer = std::get_if<Answer>(&effect);
  if (!answer || answer->outcome != OutcomeClass::replay) co_return co_await ended(std::move(effect), {});
  const State as = answer->response->status < 400 ? State::succeeded : State::failed;
  outcome_ = {fence_of(record),
              as,
              answer->response,
              answer->ttl,
              answer->result,
              engine_.events_.of(record, *command_.policy, as, answer->response.get(), answer->result.get(),
                                 answer->emitted.get())};
  Result<Record>& written = co_await timed_complete(outcome_);
  if (!written) co_return co_await ended(std::move(effect), std::move(written));
  engine_.events_.written(command_.scope, outcome_.events);
  co_await keeper_.stop();
  leave_admission();
  engine_.flights_.end(flight_, {.settled = &*written});
  engine_.flights_.tell_leader<Outcome>(
      flight_, Executed{.record = std::move(*written), .effect = std::move(effect), .like = like_});
}

Task<bool> Engine::Execution::get_ready() {
  if (!work_->ready()) {
    // Getting ready may fail or take long, and a replay needs none of it: look before connecting.
    if (!co_await look()) co_return false;
    const Result<Done> prepared = co_await work_->prepare();
    if (!prepared) failure_ = Unreachable{prepared.error().message};
  }
  if (failure_ || (command_.admission && !co_await admit())) co_return false;
  asked_at_ = engine_.clock_.mono();
  co_return true;
}

Task<bool> Engine::Execution::look() {
  Result<Record>& standing = co_await timed_lookup(command_.scope);
  if (!standing && standing.error().code != Errc::not_found) {
    failure_ = StoreFailed{standing.error()};
    co_return false;
  }
  if (!standing || may_run_again(*standing, *command_.policy)) co_return true;
  claimed_.value = ClaimReply{false, std::move(*standing)};
  co_return false;
}

Task<bool> Engine::Execution::admit() {
  std::optional<Duration> wait = command_.admission->enter();
  if (!wait) co_return true;
  // No room for a new key: but is it one? A key that exists costs nothing to answer.
  if (!co_await look()) co_return false;
  if (record_.value) {
    wait = command_.admission->enter_again();
    if (!wait) co_return true;
  }
  failure_ = OverQuota{*wait};
  co_return false;
}

void Engine::Execution::leave_admission() {
  if (command_.admission) command_.admission->leave();
}

// I10: it may have been written all the same. Asked again under the same owner, a claim that stands is
// found to be ours, and one that does not is made.
Task<> Engine::Execution::claim_again() {
  // Another operation id: should both questions arrive late, with a life of the key between them, a service
  // that remembers what it did must not take the second for the first.
  request_.operation_id =
      claim_request(command_, State::processing, engine_.clock_.now(), engine_.random_).operation_id;
  Result<ClaimReply>& reply = co_await timed_claim(engine_.clock_.mono());
  // It was written, but we learned of it only after its lease: nothing was sent, and nothing may be now. It
  // is freed at once or never: later, the same words may stand for another life of the key.
  if (reply && !reply->granted && reply->record.owner == request_.owner &&
      reply->record.state == State::unknown) {
    const ReleaseRequest release{fence_of(reply->record), may_unbind(request_, reply->record.epoch)};
    (void)co_await store_call<Record>(executor_,
                                      [&](auto& freed) { return engine_.store_.release(release, freed); });
    reply = Error{Errc::unavailable, "the claim was answered after its lease had ended"};
    co_return;
  }
  const bool closed = command_.policy->on_store_failure == OnStoreFailure::closed;
  // Beyond a crowd of them the store is down for good; their keys then wait for the lease.
  if (!reply && closed && engine_.executions() < orphans_max) {
    spawn(free_orphan(executor_, engine_.clock_, engine_.store_, request_, engine_.executions_));
  }
}

bool Engine::Execution::settles() {
  work_->stand_down();
  leave_admission();
  if (failure_) {
    finish<Outcome>({.outcome = &*failure_}, std::move(*failure_));
    return true;
  }
  ClaimReply& reply = *claimed_.value;
  const State state = reply.record.state;
  if (reply.standing || is_in_progress(state) || state == State::unknown) return false;
  finish<Settled>({.settled = &reply.record}, std::move(reply.record));
  return true;
}

Task<bool> Engine::Execution::waits() {
  const ClaimReply& reply = *claimed_.value;
  if (reply.standing) {
    // Followers ask for themselves: a request that differs may state another fact.
    finish<Outcome>({}, co_await met(*reply.standing));
    co_return false;
  }
  const bool probes = may_probe(reply.record);
  if (!is_in_progress(reply.record.state) && !probes) {
    finish<Settled>({.settled = &reply.record}, Settled{reply.record});
    co_return false;
  }
  engine_.flights_.in_progress(flight_, reply.record, false);
  engine_.flights_.leader_waits(flight_);
  bool goes_on = true;
  if (probes) {
    co_await probe(reply.record);  // also when nobody can wait for it: the next retry finds the answer
  } else {
    goes_on = engine_.flights_.has_waiters(flight_);
    if (goes_on) co_await watch();
  }
  // Who was told that it differs or that its time is up must not execute afterwards: whoever still
  // waits goes on with its own work.
  goes_on = goes_on && engine_.flights_.has_leader(flight_);
  if (goes_on) {
    engine_.flights_.leader_stays(flight_);
  } else {
    engine_.flights_.end(flight_, {});
  }
  co_return goes_on;
}

Task<Outcome> Engine::Execution::met(MarkHolder holder) {
  Result<Record>& found = co_await timed_lookup(holder.scope);
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

// Until the store says that the key may have changed, one of those who wait cannot go without a look, or the
// slow poll comes round.
class Engine::Execution::Change final : Completion, Timer, Lookout {
 public:
  Change(Executor& executor, Store& store, Flights& flights, Flight& flight, const Scope& scope,
         MonoTime poll_at)
      : executor_(executor),
        store_(store),
        flights_(flights),
        flight_(flight),
        scope_(scope),
        poll_at_(poll_at) {
    Completion::run = [](Completion* self) { static_cast<Change*>(self)->on_posted(); };
    Timer::run = [](Timer* self) { static_cast<Change*>(self)->on_poll(); };
  }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    waiting_ = waiting;
    executor_.arm(*this, poll_at_);
    flights_.watches(flight_, *this);
    store_.watch(scope_, [this] { look(); });
  }
  void await_resume() noexcept {}
  void look() override {
    if (!posted_.exchange(true)) executor_.post(this);
  }

 private:
  void on_posted() {
    executor_.cancel(*this);
    rest();
    waiting_.resume();
  }
  void on_poll() {
    rest();
    if (!posted_) waiting_.resume();  // else the posted completion will, and must still find this object
  }

  // Nobody tells it to look after this.
  void rest() {
    store_.unwatch(scope_);
    flights_.looks(flight_);
  }

  Executor& executor_;
  Store& store_;
  Flights& flights_;
  Flight& flight_;
  const Scope& scope_;
  const MonoTime poll_at_;
  std::atomic<bool> posted_{false};
  std::coroutine_handle<> waiting_;
};

Task<> Engine::Execution::watch() {
  co_await Change(executor_, engine_.store_, engine_.flights_, flight_, command_.scope,
                  engine_.clock_.mono() + poll_interval);
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

void Engine::Execution::begin_execution() {
  const Policy& policy = *command_.policy;
  ClaimReply& reply = *claimed_.value;
  if (command_.admission) command_.admission->granted(reply.record.epoch == 1);
  if (reply.standing && !command_.confirmed) like_ = reply.standing->operation_id;
  hold_until_ = asked_at_ + policy.max_hold;
  keeper_.start(fence_of(reply.record), policy.lease, asked_at_, hold_until_);
  engine_.flights_.in_progress(flight_, std::move(reply.record), true);
}

// Paused past the lease before anything was sent: others may think that we are gone.
Task<> Engine::Execution::lease_lost() {
  work_->stand_down();
  const Record& record = flight_.record();
  const bool unbind = may_unbind(request_, record.epoch);
  (void)co_await release({fence_of(record), unbind});  // if it fails, the key is held as unknown: safe
  co_await keeper_.stop();
  finish<Outcome>({}, StoreFailed{{Errc::stale, "the lease ended before the request could be sent"}});
}

}  // namespace onceward
