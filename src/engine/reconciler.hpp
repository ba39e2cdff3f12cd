// Reconciler: turns what an upstream says about an unknown outcome into the record's outcome. It decides
// who may ask and when (back-off, a global rate, giving up), lets one machine at a time ask about a record,
// and resolves by epoch, so that an owner's late answer and a probe's cannot both win. One per engine; any
// thread.
#pragma once

#include <atomic>
#include <mutex>
#include <string_view>

#include "base/task.hpp"
#include "engine/outcome_events.hpp"
#include "engine/probe_schedule.hpp"
#include "engine/prober.hpp"
#include "onceward/store.hpp"

namespace onceward {

class EngineObserver;

// The right to ask about an operation is a record of this (reserved) operation.
inline constexpr std::string_view probe_operation = "onceward.probe";

enum class ProbeOutcome : std::uint8_t { applied, not_applied, cannot_tell, elsewhere, gave_up };
std::string_view to_string(ProbeOutcome outcome);

class Reconciler {
 public:
  Reconciler(Store& store, const Clock& clock, Random& random, const OutcomeEvents& events,
             std::size_t per_second)
      : store_(store), clock_(clock), random_(random), events_(events), schedule_(per_second) {}

  // Whether to ask about this unknown record now; attempt() must follow a yes.
  bool begin(const Record& record, const ProbePolicy& policy, EngineObserver* observer);
  // Asks once and stores what follows from the answer.
  Task<ProbeOutcome> attempt(Executor& executor, Record record, std::shared_ptr<const Policy> policy,
                             Prober& prober, EngineObserver* observer);

  void forget_idle();
  // Machines that died while asking left their rights behind, which would stay for ever when others settled
  // what they asked about.
  Task<> free_lost_rights(Executor& executor);
  // Writes that nobody waits for and that have not ended.
  std::size_t at_work() const { return at_work_.load(std::memory_order_relaxed); }

 private:
  Task<ProbeOutcome> ask_alone(Executor& executor, const Record& record, const Policy& policy,
                               Prober& prober);
  Task<ProbeOutcome> ask_and_resolve(Executor& executor, const Record& record, const Policy& policy,
                                     Prober& prober);
  Task<> give_up_right(Executor& executor, ReleaseRequest right);
  Task<bool> resolve(Executor& executor, const ResolveRequest& request);
  // By a resolution, such as this one.
  Task<bool> is_resolved(Executor& executor, const ResolveRequest& request);

  Store& store_;
  const Clock& clock_;
  Random& random_;
  const OutcomeEvents& events_;
  std::mutex mutex_;
  ProbeSchedule schedule_;  // guarded by mutex_
  std::atomic<std::size_t> at_work_{0};
};

}  // namespace onceward
