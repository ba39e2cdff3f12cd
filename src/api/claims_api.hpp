// ClaimsApi: POST /v1/claims and the verbs of a claim, for services and workers that drive the lifecycle
// themselves. Each call is one store verb; the store decides. On the API's worker.
#pragma once

#include "api/api_call.hpp"
#include "engine/outcome_events.hpp"
#include "onceward/store.hpp"
#include "ops/metrics.hpp"

namespace onceward {

class ClaimsApi {
 public:
  ClaimsApi(Store& store, const Clock& clock, Random& random, Metrics::Shard& metrics,
            const OutcomeEvents& events)
      : store_(store), clock_(clock), random_(random), metrics_(metrics), events_(events) {}

  Task<> claim(ApiCall& call);
  Task<> dispatch(ApiCall& call);
  Task<> renew(ApiCall& call);
  Task<> complete(ApiCall& call);
  Task<> release(ApiCall& call);
  Task<> unknown(ApiCall& call);

 private:
  Task<Result<ClaimReply>> ask(Executor& executor, const ClaimRequest& request);
  // The events of a completion; its record says whose they are.
  Task<Result<std::shared_ptr<const Events>>> events_of(ApiCall& call, const CompleteRequest& request,
                                                        const Emissions* emitted);
  // A verb that carries a fence: repeated once when its fate is not known (I10), then answered.
  template <class Start>
  Task<bool> act(ApiCall& call, StoreVerb verb, Start start);

  Store& store_;
  const Clock& clock_;
  Random& random_;
  Metrics::Shard& metrics_;
  const OutcomeEvents& events_;
};

}  // namespace onceward
