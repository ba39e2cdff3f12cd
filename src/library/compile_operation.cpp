#include "library/compile_operation.hpp"

namespace onceward::api {
namespace {

Error invalid(std::string message) { return {Errc::invalid, std::move(message)}; }

}  // namespace

Result<Operation> compile_operation(const std::string& name, const std::string& match, const Policy& policy) {
  const std::string who = name.empty() ? "defaults" : "operation '" + name + "'";
  if (policy.ttl <= Duration::zero() || policy.lease <= Duration::zero())
    return invalid(who + ": ttl and lease must be longer than nothing");
  if (policy.lease > policy.max_hold) return invalid(who + ": lease is longer than max_hold");
  if (policy.on_unknown == OnUnknown::probe) return invalid(who + ": the library has no probe");
  Operation operation;
  operation.name = name;
  operation.match = match;
  operation.policy = std::make_shared<const Policy>(policy);
  Result<CompiledFingerprintPolicy> compiled = CompiledFingerprintPolicy::compile(policy.fingerprint);
  if (!compiled) return invalid(who + ": " + compiled.error().message);
  operation.fingerprint = std::move(*compiled);
  return operation;
}

}  // namespace onceward::api
