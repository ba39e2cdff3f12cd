#include "engine/outcome_events.hpp"

#include <span>

namespace onceward {

std::shared_ptr<const Events> OutcomeEvents::make(const Record& record, const Policy& policy, State as,
                                                  const Response* response, const OperationResult* result,
                                                  const Emissions* emitted) const {
  if (!kept_ || (as != State::succeeded && as != State::failed)) return nullptr;
  const std::span<const Emission> own = emitted ? std::span(*emitted) : std::span<const Emission>();
  return events_of({record.operation_id, *record.request, as, response, result, clock_.now()}, policy.events,
                   own);
}

}  // namespace onceward
