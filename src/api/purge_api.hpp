// PurgeApi: POST /v1/purge. Removes final records of a tenant, an operation or an age, in chunks, for a
// bounded time per call: a cursor says where to go on. Never removes what Onceward keeps for itself. On the
// API's worker.
#pragma once

#include <set>

#include "api/api_call.hpp"
#include "api/audit.hpp"
#include "onceward/store.hpp"

namespace onceward {

class PurgeApi {
 public:
  PurgeApi(Store& store, const Clock& clock, Audit& audit) : store_(store), clock_(clock), audit_(audit) {}

  Task<> purge(ApiCall& call);

 private:
  struct Wanted;
  struct Progress;
  // Until its cursor is empty or the time is up.
  Task<Result<Done>> purge_matching(Executor& executor, PurgeRequest& request, Progress& progress);
  Task<Result<Done>> purge_each_operation(Executor& executor, const Wanted& wanted, Progress& progress);
  Task<Result<std::set<std::string>>> operations_of(Executor& executor, const Wanted& wanted);

  Store& store_;
  const Clock& clock_;
  Audit& audit_;
};

}  // namespace onceward
