// Engine: claim → execute → complete, for any work. It owns the rules that need time and order: the
// claim is durable before the work starts (I1), the outcome before the caller is told (I2), an
// uncertain store is read again by owner (I10), and a caller that leaves changes nothing (I11).
//
// One per process, shared by all workers; each call runs on the executor that it names.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "base/task.hpp"
#include "core/policy.hpp"
#include "engine/admission.hpp"
#include "engine/flights.hpp"
#include "engine/lease_keeper.hpp"
#include "engine/outcome.hpp"
#include "engine/outcome_events.hpp"
#include "engine/prober.hpp"
#include "engine/reconciler.hpp"
#include "engine/work.hpp"
#include "onceward/store.hpp"

namespace onceward {

// What the engine counts and times; the default does nothing. One per worker: called
// on the executor's thread.
class EngineObserver {
 public:
  virtual ~EngineObserver() = default;
  virtual void store_answered(std::string_view verb, std::chrono::nanoseconds took, bool failed) {
    (void)verb, (void)took, (void)failed;
  }
  virtual void became_unknown(const Record& record, UnknownCause cause) { (void)record, (void)cause; }
  // Somebody asked what became of an unknown outcome, or gave up asking.
  virtual void probed(const Record& record, ProbeOutcome outcome) { (void)record, (void)outcome; }
};

// One request, whatever its protocol.
struct Command {
  Scope scope;
  Fingerprint fingerprint;
  std::shared_ptr<const RequestInfo> request;
  std::shared_ptr<const Policy> policy;  // shared with the config it came from: a reload changes nothing here
  Duration wait{};                       // how long this caller waits for one that is in progress
  // The same request under an older fingerprint version, when a record asks for it.
  std::function<Result<Fingerprint>(std::uint16_t version)> fingerprint_as;
  EngineObserver* observer = nullptr;
  std::shared_ptr<Admission> admission;  // null: no quota. Shared by the attempts of one command
  bool confirmed = false;                // whatever it is like, it is meant as another one (suspect)
  Prober* prober = nullptr;              // on_unknown: probe; like the observer, its worker's
};

class Engine {
 public:
  static constexpr std::size_t probes_per_second_default = 50;

  Engine(Store& store, const Clock& clock, Random& random,
         std::size_t probes_per_second = probes_per_second_default);

  // Runs the command or finds out what became of it. The work goes on when it must outlive the answer
  // (a late reply, an outcome that could not be stored yet).
  Task<Outcome> run(Executor& executor, Command command, std::shared_ptr<Work> work);

  // A command for this scope is about to be run: what it will look at first is in no cache.
  void expect(const Scope& scope) {
    flights_.expect(scope);
    store_.expect(scope);
  }

  // Runs the work without any record: whoever asked for it gave no key.
  Task<Outcome> run_unguarded(std::shared_ptr<Work> work) { return unguarded(std::move(work), {}); }

  // The same for callers that may leave: the weak caller is told only if it is still there (I11).
  class Caller {
   public:
    virtual ~Caller() = default;
    virtual void told(Outcome outcome) = 0;
  };
  void start(Executor& executor, Command command, std::shared_ptr<Work> work, std::weak_ptr<Caller> caller);

  // Asks what became of an unknown record if that is due and nobody here is at work on its key. Retries that
  // arrive meanwhile wait for it, each within its own limit.
  Task<> probe(Executor& executor, Record record, std::shared_ptr<const Policy> policy, Prober& prober,
               EngineObserver* observer);
  Reconciler& reconciler() { return reconciler_; }
  OutcomeEvents& events() { return events_; }

  // Shutting down with work that did not end in time: says so in the store, instead of letting others wait
  // for leases to lapse. Returns how many records it marked.
  Task<std::size_t> mark_leftovers_unknown(Executor& executor);

  // Keys at work in this process, and executions that have not ended (late listeners included).
  std::size_t flights() const { return flights_.size(); }
  std::size_t executions() const {
    return executions_.load(std::memory_order_relaxed) + reconciler_.at_work();
  }

 private:
  class Execution;
  friend class Execution;

  Task<Outcome> unguarded(std::shared_ptr<Work> work, std::string_view would_have);
  Task<> run_and_tell(Executor& executor, Command command, std::shared_ptr<Work> work,
                      std::weak_ptr<Caller> caller);

  Store& store_;
  const Clock& clock_;
  Random& random_;
  Flights flights_;
  OutcomeEvents events_;
  Reconciler reconciler_;
  std::atomic<std::size_t> executions_{0};
};

}  // namespace onceward
