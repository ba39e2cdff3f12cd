#include "cli/make_rules.hpp"

#include <fstream>
#include <iterator>

namespace onceward::cli {
namespace {

using config::IdentitySource;
using config::OperationConfig;
using config::ProbeConfig;

Result<IdentityRule> identity_rule(const IdentityFrom& from) {
  switch (from.source) {
    case IdentitySource::none:
      return IdentityRule{onceward::IdentitySource::none, ""};
    case IdentitySource::authorization:
      return IdentityRule{onceward::IdentitySource::authorization, ""};
    case IdentitySource::header:
      return IdentityRule{onceward::IdentitySource::header, from.argument};
    case IdentitySource::cookie:
      return IdentityRule{onceward::IdentitySource::cookie, from.argument};
    case IdentitySource::certificate:
      return IdentityRule{onceward::IdentitySource::certificate, ""};
    case IdentitySource::jwt:
      break;
  }
  return Error{Errc::invalid, "identity from a token is not available in this build"};
}

Result<Operation> compile(std::string name, std::string match, const Policy& policy,
                          std::size_t metrics_index) {
  Operation operation;
  operation.name = std::move(name);
  operation.match = std::move(match);
  operation.policy = std::make_shared<const Policy>(policy);
  Result<CompiledFingerprintPolicy> fingerprint = CompiledFingerprintPolicy::compile(policy.fingerprint);
  if (!fingerprint) return fingerprint.error();
  operation.fingerprint = std::move(*fingerprint);
  operation.metrics_index = metrics_index;
  return operation;
}

ProbePolicy probe_policy(const ProbeConfig& probe) {
  return {.method = probe.request.method,
          .target = probe.request.target,
          .applied = probe.applied,
          .not_applied = probe.not_applied,
          .response = probe.response,
          .status = probe.status.value_or(0),
          .every = probe.every,
          .give_up = probe.give_up};
}

Policy policy_of(const OperationConfig& operation) {
  Policy policy = operation.policy;
  if (policy.on_unknown == OnUnknown::probe) policy.probe = probe_policy(*operation.probe);
  // Without a key its items would have none to derive theirs from.
  if (operation.bulk) policy.key.required = true;
  return policy;
}

std::shared_ptr<const BulkRules> bulk_rules(const OperationConfig& operation, Metrics& metrics) {
  if (!operation.bulk) return nullptr;
  Policy whole = policy_of(operation);
  whole.on_unknown = OnUnknown::forward;
  whole.probe.reset();
  // What is unique, suspicious or told is each item, not the request that brought it.
  whole.unique.reset();
  whole.suspect.reset();
  whole.events.clear();
  const std::string item_name = item_operation(operation.name);
  return std::make_shared<const BulkRules>(
      BulkRules{.items = operation.bulk->items,
                .id = operation.bulk->id,
                .method = operation.bulk->request.method,
                .target = operation.bulk->request.target,
                .parallel = operation.bulk->parallel,
                .items_max = operation.bulk->max_items,
                .whole = std::make_shared<const Policy>(std::move(whole)),
                .item_name = item_name,
                .item_metrics_index = metrics.operation(item_name)});
}

}  // namespace

Result<std::string> read_secret(const std::string& file) {
  if (file.empty()) return std::string();
  std::ifstream in(file, std::ios::binary);
  std::string secret((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in && !in.eof()) return Error{Errc::invalid, "cannot read security.secret_file " + file};
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  if (secret.size() < 16)
    return Error{Errc::invalid, "security.secret_file " + file + " has fewer than 16 bytes"};
  return secret;
}

std::vector<std::string> operation_names(const Config& config) {
  std::vector<std::string> names;
  for (const OperationConfig& operation : config.operations) {
    names.push_back(operation.name);
    if (operation.bulk) names.push_back(item_operation(operation.name));
  }
  return names;
}

Result<std::shared_ptr<const Rules>> make_rules(const Config& config, Metrics& metrics) {
  auto rules = std::make_shared<Rules>();
  const Result<IdentityRule> tenant = identity_rule(config.identity.tenant.from);
  if (!tenant) return tenant.error();
  const Result<IdentityRule> caller = identity_rule(config.identity.caller);
  if (!caller) return caller.error();
  rules->identity = {*tenant, config.identity.tenant.required,
                     config.identity.tenant.format == TenantFormat::uuid, *caller};
  rules->quotas = {config.quotas.new_keys_per_second, config.quotas.burst, config.quotas.live_keys,
                   config.quotas.in_flight};
  rules->max_request = config.limits.max_request;
  rules->max_response = config.limits.max_response;
  rules->hash_keys = config.security.hash_keys;
  Result<std::string> secret = read_secret(config.security.secret_file);
  if (!secret) return secret.error();
  rules->secret = std::move(*secret);

  Result<Operation> fallback = compile("", "", config.defaults, 0);
  if (!fallback) return fallback.error();
  rules->fallback = std::move(*fallback);
  std::vector<std::string> patterns;
  for (const OperationConfig& entry : config.operations) {
    Result<Operation> operation =
        compile(entry.name, entry.match, policy_of(entry), metrics.operation(entry.name));
    if (!operation) return operation.error();
    operation->bulk = bulk_rules(entry, metrics);
    if (entry.reference) operation->reference = {entry.reference->is_header, entry.reference->where};
    rules->operations.push_back(std::move(*operation));
    patterns.push_back(entry.match);
  }
  Result<Routes> routes = Routes::compile(patterns);
  if (!routes) return routes.error();
  rules->routes = std::move(*routes);
  rules->seal();
  return std::shared_ptr<const Rules>(std::move(rules));
}

}  // namespace onceward::cli
