// ApiListener: the API as `serve` and `consume` both offer it, on one of their workers: its tokens, rules,
// certificates and addresses. Made and started by the main thread before that worker runs.
#pragma once

#include <memory>
#include <string>

#include "api/api.hpp"
#include "config/config.hpp"
#include "engine/engine.hpp"
#include "ops/log.hpp"
#include "ops/metrics.hpp"

namespace onceward::cli {

using namespace config;

http::ServerLimits server_limits(const Config& config);
Result<Done> use_certificates(http::Server& server, const TlsConfig& tls);

class ApiListener {
 public:
  struct Context {
    Store& store;
    const Clock& clock;
    Random& random;
    Metrics& metrics;
    Log& log;
    const OutcomeEvents& events;
  };

  ApiListener(const Config& config, const Context& context);

  // Listens, unless the configuration asks for no API.
  Result<Done> start(net::Worker& worker, std::function<Readiness()> readiness);
  bool is_on() const { return server_ != nullptr; }
  const std::string& address() const { return address_; }  // empty: off

  // A reload in two steps, the second of which cannot fail and runs on the worker.
  Result<std::shared_ptr<const ApiRules>> load_rules(const Config& config);
  void use(std::shared_ptr<const ApiRules> rules) { api_->use(std::move(rules)); }

  // On the worker: returns when nobody is connected any more.
  Task<> close();

 private:
  Result<Tokens> load_tokens(const Config& config);

  const Config config_;
  const Context context_;
  std::string admin_token_;  // of this process, when nothing else keeps one
  std::unique_ptr<AdminApi> admin_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<http::Server> server_;
  std::string address_;
};

}  // namespace onceward::cli
