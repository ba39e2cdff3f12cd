// RecordsApi: what operators see of records and what they may do to them. Every change is audited before it
// is made. On the API's worker.
#pragma once

#include <set>

#include "api/api_call.hpp"
#include "api/audit.hpp"
#include "engine/outcome_events.hpp"
#include "onceward/store.hpp"

namespace onceward {

class RecordsApi {
 public:
  RecordsApi(Store& store, const Clock& clock, Audit& audit, const OutcomeEvents& events)
      : store_(store), clock_(clock), audit_(audit), events_(events) {}

  Task<> list(ApiCall& call);
  Task<> show(ApiCall& call);
  Task<> resolve(ApiCall& call);
  Task<> stats(ApiCall& call);
  Task<> audit(ApiCall& call);

 private:
  struct Resolution;
  Task<Result<Record>> find(Executor& executor, std::string_view id_text);
  Task<> resolve_one(ApiCall& call, const Resolution& wanted, const Record& standing);
  Task<Result<Record>> resolve_once(Executor& executor, const ResolveRequest& request);

  Store& store_;
  const Clock& clock_;
  Audit& audit_;
  const OutcomeEvents& events_;
  std::set<OperationId> being_resolved_;  // two operators of this process at once: one wins
};

}  // namespace onceward
