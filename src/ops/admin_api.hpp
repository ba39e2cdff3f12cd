// AdminApi: what operators and machines ask on the API's own listener: is it alive, is it ready, what
// has it counted. One Handler on the first worker, whose shard of the metrics it may write.
#pragma once

#include <functional>
#include <string>

#include "base/readiness.hpp"
#include "core/record_counts.hpp"
#include "http/server.hpp"
#include "onceward/outbox_store.hpp"
#include "ops/lost_owners.hpp"
#include "ops/metrics.hpp"

namespace onceward {

class AdminApi final : public http::Handler {
 public:
  AdminApi(Store& store, const Clock& clock, Metrics& metrics, std::function<Readiness()> readiness);

  Task<> handle(http::Exchange& exchange) override;
  http::PlainAnswer protocol_error(int status, std::string_view detail) override;

 private:
  Task<> ready(http::Exchange& exchange);
  Task<> metrics(http::Exchange& exchange);
  Task<> count_records(Executor& executor);
  Task<> count_events(Executor& executor);
  Task<Result<Done>> count_by_store(Executor& executor, RecordCounts& counts);
  Task<Result<Done>> count_by_listing(Executor& executor);
  // Looks at one page after another; the records are the caller's business.
  Task<Result<Done>> look_at(Executor& executor, ListRequest page, std::function<void(const Record&)> each);

  Store& store_;
  const Clock& clock_;
  Metrics& metrics_;
  const std::function<Readiness()> readiness_;
  MetricGauges gauges_;
  LostOwners lost_owners_;
  MonoTime counted_at_{};
};

}  // namespace onceward
