// OutcomeEvents: makes the events that go with an outcome, and wakes the relay of this process when they are
// written. Nothing is made where the store keeps no events. One per engine; any thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/outcome_events.hpp"
#include "core/policy.hpp"
#include "onceward/outbox_store.hpp"

namespace onceward {

using Emissions = std::vector<Emission>;

class OutcomeEvents {
 public:
  OutcomeEvents(Store& store, const Clock& clock) : clock_(clock), kept_(store.outbox() != nullptr) {}

  // Whether the store keeps events at all.
  bool kept() const { return kept_; }
  // Before anything runs: `wake` is called, on any thread, with the partition that has something new.
  void use(std::function<void(std::uint16_t partition)> wake) { wake_ = std::move(wake); }

  // Null: none. Whoever writes an outcome makes its events once, and writes the same ones when it asks again.
  std::shared_ptr<const Events> of(const Record& record, const Policy& policy, State as,
                                   const Response* response, const OperationResult* result = nullptr,
                                   const Emissions* emitted = nullptr) const {
    if (policy.events.empty() && !emitted) return nullptr;
    return make(record, policy, as, response, result, emitted);
  }
  void written(const Scope& scope, const std::shared_ptr<const Events>& events) const {
    if (events && wake_) wake_(outbox_partition_of(scope));
  }

  void wake_all() const {
    for (std::uint16_t partition = 0; wake_ && partition < outbox_partitions; ++partition) wake_(partition);
  }

 private:
  std::shared_ptr<const Events> make(const Record& record, const Policy& policy, State as,
                                     const Response* response, const OperationResult* result,
                                     const Emissions* emitted) const;

  const Clock& clock_;
  const bool kept_;
  std::function<void(std::uint16_t)> wake_;
};

}  // namespace onceward
