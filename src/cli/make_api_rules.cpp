#include "cli/make_api_rules.hpp"

#include "cli/make_rules.hpp"

namespace onceward::cli {
namespace {

Result<OperationRule> compile(const Policy& policy, std::size_t metrics_index) {
  OperationRule rule;
  rule.policy = std::make_shared<const Policy>(policy);
  Result<CompiledFingerprintPolicy> fingerprint = CompiledFingerprintPolicy::compile(policy.fingerprint);
  if (!fingerprint) return fingerprint.error();
  rule.fingerprint = std::move(*fingerprint);
  rule.metrics_index = metrics_index;
  return rule;
}

}  // namespace

Result<std::shared_ptr<const ApiRules>> make_api_rules(const Config& config, Metrics& metrics,
                                                       Tokens tokens) {
  auto rules = std::make_shared<ApiRules>();
  rules->tokens = std::move(tokens);
  rules->listen_host = config.api.listen ? config.api.listen->host : "";
  rules->open_metrics = !config.api.listen || config.api.listen->is_loopback();
  Result<std::string> secret = read_secret(config.security.secret_file);
  if (!secret) return secret.error();
  rules->secret = std::move(*secret);
  rules->hash_keys = config.security.hash_keys;
  rules->tenant_required = config.identity.tenant.required;
  rules->tenant_is_uuid = config.identity.tenant.format == TenantFormat::uuid;
  rules->max_request = config.limits.max_request;
  rules->max_response = config.limits.max_response;
  rules->audit_ttl = config.audit_ttl;
  Result<OperationRule> fallback = compile(config.defaults, 0);
  if (!fallback) return fallback.error();
  rules->fallback = std::move(*fallback);
  for (const OperationConfig& entry : config.operations) {
    Result<OperationRule> rule = compile(entry.policy, metrics.operation(entry.name));
    if (!rule) return rule.error();
    rules->tells_events = rules->tells_events || !entry.policy.events.empty();
    rules->operations.emplace(entry.name, std::move(*rule));
  }
  return std::shared_ptr<const ApiRules>(std::move(rules));
}

}  // namespace onceward::cli
