// Api: the listener of operators, services and machines. Checks who asks (browser guard, token, role), finds
// the route, reads the body within its limit and hands over to the resource. One Handler on one worker.
#pragma once

#include <memory>

#include "api/audit.hpp"
#include "api/claims_api.hpp"
#include "api/outbox_api.hpp"
#include "api/purge_api.hpp"
#include "api/records_api.hpp"
#include "http/server.hpp"
#include "ops/admin_api.hpp"

namespace onceward {

struct ApiContext {
  Store& store;
  const Clock& clock;
  Random& random;
  Metrics::Shard& metrics;  // of the worker it runs on
  AdminApi& admin;          // health and metrics
  const OutcomeEvents& events;
};

class Api final : public http::Handler {
 public:
  Api(const ApiContext& context, std::shared_ptr<const ApiRules> rules);

  // Reload, on the worker's thread: calls that have begun keep their rules.
  void use(std::shared_ptr<const ApiRules> rules) { rules_ = std::move(rules); }

  Task<> handle(http::Exchange& exchange) override;
  http::PlainAnswer protocol_error(int status, std::string_view detail) override;

 private:
  struct Route;
  struct Found;
  static const Route routes[];
  Found find(std::string_view method, std::string_view path) const;
  Task<> serve(ApiCall& call, const Route& route);
  Task<> open(ApiCall& call, std::string_view path);

  AdminApi& admin_;
  Audit audit_;
  ClaimsApi claims_;
  RecordsApi records_;
  PurgeApi purge_;
  OutboxApi outbox_;
  std::shared_ptr<const ApiRules> rules_;
};

}  // namespace onceward
