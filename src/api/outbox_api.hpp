// OutboxApi: what operators see of the events that wait, and how they have those that were set aside sent
// after all. Payloads are not shown. Every change is audited. On the API's worker.
#pragma once

#include "api/api_call.hpp"
#include "api/audit.hpp"
#include "engine/outcome_events.hpp"
#include "onceward/outbox_store.hpp"

namespace onceward {

class OutboxApi {
 public:
  OutboxApi(Store& store, Audit& audit, const OutcomeEvents& events)
      : store_(store), audit_(audit), events_(events) {}

  Task<> status(ApiCall& call);
  Task<> list(ApiCall& call);
  Task<> retry(ApiCall& call);

 private:
  Store& store_;
  Audit& audit_;
  const OutcomeEvents& events_;
};

}  // namespace onceward
