// Proxy: where HTTP meets the engine. One Handler per worker: finds the operation, decides whether the
// request is guarded, runs it through the engine or relays it, and words the answer. On its worker's
// thread only; rules and upstream can be replaced between requests (reload).
#pragma once

#include <memory>
#include <string>

#include "engine/engine.hpp"
#include "http/relay.hpp"
#include "http/server.hpp"
#include "http/upstream.hpp"
#include "ops/log.hpp"
#include "ops/metrics.hpp"
#include "proxy/bulk_board.hpp"
#include "proxy/identity.hpp"
#include "proxy/rules.hpp"
#include "proxy/trace.hpp"
#include "proxy/upstream_prober.hpp"
#include "proxy/upstream_work.hpp"
#include "proxy/well_known.hpp"

namespace onceward {

// What all workers share.
struct ProxyContext {
  Engine& engine;
  Store& store;
  const Clock& clock;
  Random& random;
  Log& log;
  Metrics& metrics;
  Quotas& quotas;
  BulkBoard& bulk_board;
};

class Proxy final : public http::Handler {
 public:
  Proxy(const ProxyContext& context, net::Worker& worker, std::size_t worker_index);

  void use(std::shared_ptr<const Rules> rules, std::shared_ptr<http::Upstream> upstream);

  // Shutting down: from then on no further item of a bulk request is begun. What has been begun ends, and a
  // retry goes on with the rest.
  void wind_down(MonoTime at) { winds_down_at_ = at; }

  // For whoever works in the background of this worker.
  Prober& prober() { return prober_; }
  EngineObserver* observer() { return observer_.get(); }

  Task<> handle(http::Exchange& exchange) override;
  http::PlainAnswer protocol_error(int status, std::string_view detail) override;

  struct Call;  // one request on its way through

 private:
  class Observer;

  Task<> handle_unguarded(http::Exchange& exchange, const Operation& operation);
  Task<> handle_guarded(http::Exchange& exchange, const Operation& operation);
  http::RelayOptions relay_options(const Call& call, TraceLine& trace);
  static void passed(Call& call, const http::RelayResult& result);
  Task<> pass_through(Call& call);
  Task<> guard(Call& call, std::optional<std::string> key);
  Task<> guard_bulk(Call& call, Identity identity, std::string key, std::string body);
  Task<std::shared_ptr<const Policy>> policy_of_key(const Scope& scope, std::shared_ptr<const Policy> policy);
  Task<> answer_accepted(Call& call, const Grant& grant);
  Task<> run_without_key(Call& call, std::string body);
  // `work` is null where nothing of the upstream's answer is passed on but what is stored.
  Task<> answer(Call& call, Outcome& outcome, UpstreamWork* work);
  // The answers of the usual ways: functions that try first, see task.hpp.
  Task<bool> answer_first(Call& call, const Executed& executed, const Answer& answered, UpstreamWork* work);
  Task<> answer_none(Call& call, const Executed& executed);
  void suspect(Call& call, const OperationId& like);
  void suspect_item(const BulkRules& bulk, const OperationId& item, const OperationId& like);
  Task<bool> answer_committed(Call& call, const Response& response);
  Task<bool> answer_effect(Call& call, const Answer& answer, UpstreamWork* work, std::string_view lines);
  Task<bool> answer_large(Call& call, int status, UpstreamWork& work, std::string lines);
  Task<bool> answer_replay(Call& call, const Record& record);
  Task<> answer_rejected(Call& call, const Rejected& rejected);
  Task<> answer_still_running(Call& call, const Record& record);
  Task<> respond_accepted(Call& call, const Record& record);
  Task<> refuse(Call& call, const Problem& problem);
  std::shared_ptr<UpstreamWork> make_work(Call& call, std::string body);
  Command make_command(Call& call, const Identity& identity, const std::string& key,
                       const UpstreamWork& work);
  void count_would_have(std::size_t operation_index, std::string_view would_have);
  void account(Call& call);

  const ProxyContext context_;
  net::Worker& worker_;
  const std::size_t worker_index_;
  Metrics::Shard& metrics_;
  std::unique_ptr<EngineObserver> observer_;
  UpstreamProber prober_;
  WellKnown well_known_;
  std::shared_ptr<const Rules> rules_;
  std::shared_ptr<http::Upstream> upstream_;
  MonoTime winds_down_at_ = MonoTime::max();
};

}  // namespace onceward
