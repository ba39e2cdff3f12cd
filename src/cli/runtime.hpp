// Runtime: everything that `serve` runs, wired together: store, engine, workers, proxy, API. Made, told to
// reload and told to drain by the main thread.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/system.hpp"
#include "cli/api_listener.hpp"
#include "cli/outbox_runner.hpp"
#include "config/config.hpp"
#include "engine/engine.hpp"
#include "engine/probe_sweep.hpp"
#include "factory/open_store.hpp"
#include "ops/log.hpp"
#include "ops/metrics.hpp"
#include "ops/purger.hpp"
#include "proxy/proxy.hpp"

namespace onceward::cli {

using namespace config;

class Runtime {
 public:
  Runtime(const Config& config, Log& log);
  ~Runtime();

  // Errc::invalid: the configuration cannot work (exit 2). Other errors: the world is in the way (exit 1).
  Result<Done> start();
  // New rules, limits, upstream and certificates; on error everything stays as it was. Names what a reload
  // cannot change.
  Result<std::vector<std::string>> reload(const Config& config);
  // No new connections; waits for requests in flight, marks what is left unknown, ends the workers.
  void drain();

  // After drain(): nothing is left that runs on a worker.
  bool is_quiet() const;

  const std::vector<std::string>& addresses() const { return addresses_; }
  const std::string& api_address() const { return api_->address(); }  // empty: off

 private:
  struct Lane;  // one worker and what runs on it

  Result<Done> start_lanes();
  Result<Done> make_outbox();
  // Rules that the store cannot keep are refused, at the start and at a reload.
  Result<Done> check_marks(const Config& config) const;
  Result<std::shared_ptr<http::Upstream>> make_upstream(Lane& lane, const Config& config) const;
  void on_each_lane(const std::function<void(Lane&)>& job);

  Config config_;
  Log& log_;
  SystemClock clock_;
  SystemRandom random_;
  Metrics metrics_;
  Quotas quotas_{clock_};
  BulkBoard bulk_board_;
  OpenedStore opened_;
  std::unique_ptr<Engine> engine_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<ApiListener> api_;
  std::unique_ptr<Purger> purger_;
  std::unique_ptr<ProbeSweep> sweep_;
  std::unique_ptr<OutboxRunner> outbox_;  // null: not configured
  std::vector<std::string> addresses_;
};

std::size_t worker_count(const Config& config);

}  // namespace onceward::cli
