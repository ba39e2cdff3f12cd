// ConsumeRuntime: everything that `consume` runs, wired together: store, engine, one worker, the consumers
// with their threads, and the API's listener. Made, started and told to drain by the main thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/system.hpp"
#include "cli/api_listener.hpp"
#include "cli/worker_thread.hpp"
#include "config/config.hpp"
#include "engine/engine.hpp"
#include "factory/open_store.hpp"
#include "ops/log.hpp"
#include "ops/metrics.hpp"
#include "ops/purger.hpp"
#include "sidecar/consumer.hpp"

namespace onceward::cli {

using namespace config;

// What can be known to be wrong with `consumers` without asking a broker.
Result<Done> check_consumers(const Config& config);

class ConsumeRuntime {
 public:
  ConsumeRuntime(const Config& config, Log& log);
  ~ConsumeRuntime();

  // Errc::invalid: the configuration cannot work (exit 2). Other errors: the world is in the way (exit 1). A
  // broker that cannot be reached is neither: it is tried again.
  Result<Done> start();
  bool is_ready() const;  // every consumer has its broker
  // Other consumers take the places of the ones that run, which end first as if drained. An error: nothing
  // has changed. Otherwise the settings that differ and need a restart.
  Result<std::vector<std::string>> reload(const Config& config);
  // Takes no more messages, lets those at work end, gives the rest back.
  void drain();
  bool is_quiet() const;  // after drain(): nothing is left that runs

  const std::vector<std::unique_ptr<sidecar::Consumer>>& consumers() const { return consumers_; }
  const std::string& api_address() const { return api_->address(); }  // empty: off

 private:
  class Observer;

  using Consumers = std::vector<std::unique_ptr<sidecar::Consumer>>;

  Result<Consumers> make_consumers(const Config& config);
  Result<std::unique_ptr<sidecar::Consumer>> make_consumer(const Config& config,
                                                           const ConsumerConfig& consumer,
                                                           const std::string& secret);
  Readiness readiness() const;
  void end_consumers();

  Config config_;
  Log& log_;
  SystemClock clock_;
  SystemRandom random_;
  Metrics metrics_;
  OpenedStore opened_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<EngineObserver> observer_;
  WorkerThread lane_;
  std::unique_ptr<Purger> purger_;
  std::unique_ptr<ApiListener> api_;
  Consumers consumers_;  // read by the worker, which is why it is the worker that changes them
  Consumers retired_;    // by a reload, with a message that did not end in time
};

}  // namespace onceward::cli
