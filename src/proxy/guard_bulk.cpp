// A guarded request that is not sent itself but taken apart into items (`bulk`).
#include "base/assert.hpp"
#include "base/await.hpp"
#include "core/scope.hpp"
#include "proxy/bulk_work.hpp"
#include "proxy/call.hpp"
#include "proxy/prefer.hpp"
#include "proxy/proxy.hpp"

namespace onceward {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

// A request as its fingerprint needs it, copied: the work may outlive the client's exchange.
struct Printed {
  std::string method;
  std::string operation;
  std::string path;
  std::string query;
  std::string content_type;
  Lines headers;
};

Printed printed_parts(const http::RequestHead& request, const Operation& operation) {
  Printed parts{std::string(request.method),
                operation.name,
                std::string(request.path()),
                std::string(request.query()),
                std::string(request.headers.find("Content-Type").value_or("")),
                {}};
  for (const std::string& wanted : operation.policy->fingerprint.headers) {
    for (const http::HeaderView& header : request.headers) {
      if (http::same_name(header.name, wanted)) parts.headers.emplace_back(wanted, header.value);
    }
  }
  return parts;
}

Result<FingerprintResult> print(std::uint16_t version, const Printed& parts, std::string_view body,
                                const CompiledFingerprintPolicy& policy, const Scope& scope) {
  const std::vector<std::pair<std::string_view, std::string_view>> headers(parts.headers.begin(),
                                                                           parts.headers.end());
  const FingerprintInput input{.method = parts.method,
                               .operation = parts.operation,
                               .path = parts.path,
                               .query = parts.query,
                               .content_type = parts.content_type,
                               .body = body,
                               .headers = headers};
  return fingerprint(version, input, policy, scope);
}

}  // namespace

Task<> Proxy::guard_bulk(Call& call, Identity identity, std::string key, std::string body) {
  const http::RequestHead& request = call.exchange.request();
  const Rules& rules = *call.rules;
  const Operation& operation = *call.operation;
  const BulkRules& bulk = *operation.bulk;
  call.key_hash = key_hint(key, rules.secret);

  auto sent = std::make_unique<BulkWork::Request>();
  sent->body = std::move(body);
  auto items = bulk_items(sent->body, bulk);
  if (!items) co_return co_await refuse(call, {.code = items.error().code, .detail = items.error().detail});
  sent->items = std::move(*items);
  sent->rules = call.rules;
  sent->operation = &operation;
  sent->upstream = call.upstream;
  sent->identity = identity;
  sent->key = key;
  sent->confirmed = is_confirmed(request.headers);
  Command command;
  command.scope = scope_of(identity.tenant, identity.caller, operation.name, key, rules.secret);
  command.policy = co_await policy_of_key(command.scope, bulk.whole);
  sent->ttl = command.policy->ttl;
  sent->head = std::make_unique<const BulkHead>(request, call.exchange.peer(), rules, operation.policy->key,
                                                context_.random, context_.store.serves_transactions());
  const auto work = std::make_shared<BulkWork>(
      BulkWork::Tools{.engine = context_.engine,
                      .executor = worker_,
                      .clock = context_.clock,
                      .board = context_.bulk_board,
                      .metrics = metrics_.operation(operation.metrics_index),
                      .item_metrics = metrics_.operation(bulk.item_metrics_index),
                      .observer = observer_.get(),
                      .prober = &prober_,
                      .may_begin = [this] { return net::Worker::now() < winds_down_at_; },
                      .suspected = [this, kept = operation.bulk](
                                       const OperationId& item,
                                       const OperationId& like) { suspect_item(*kept, item, like); }},
      std::move(sent));

  const auto print_as = [work, parts = printed_parts(request, operation), scope = command.scope,
                         kept = call.rules, policy = &operation.fingerprint](std::uint16_t version) {
    return print(version, parts, work->body(), *policy, scope);
  };
  Result<FingerprintResult> printed = print_as(fingerprint_version);
  ONCEWARD_ASSERT(printed.has_value());
  command.fingerprint = printed->fingerprint;
  command.fingerprint_as = [print_as](std::uint16_t version) -> Result<Fingerprint> {
    Result<FingerprintResult> as_then = print_as(version);
    if (!as_then) return as_then.error();
    return as_then->fingerprint;
  };
  RequestInfo info{identity.tenant.value_or(""), operation.name, rules.hash_keys ? call.key_hash : key,
                   std::move(printed->leaves), owner_tag(identity, rules.secret)};
  if (operation.reference) info.reference = reference_of(*operation.reference, request.headers, work->body());
  command.request = std::make_shared<const RequestInfo>(std::move(info));
  call.info = command.request;
  const Duration wait = wait_limit(operation.policy->in_progress, preferred_wait(request.headers));
  const bool async = prefers_async(request.headers);
  command.wait = async ? Duration::zero() : wait;
  command.observer = observer_.get();
  if (rules.quotas.any()) {
    command.admission = context_.quotas.admission(command.request->owner_tag, rules.quotas,
                                                  operation.policy->ttl + operation.policy->receipt_ttl);
  }
  std::optional<Duration> patience;
  if (async || operation.policy->in_progress.then == InProgressThen::accept) patience = command.wait;
  const auto caller = std::make_shared<BulkCaller>(worker_, context_.clock, patience);
  work->caller = caller;
  context_.engine.start(worker_, std::move(command), work, caller);
  co_await *caller;
  if (caller->outcome()) co_return co_await answer(call, *caller->outcome(), nullptr);
  metrics_.claim(operation.metrics_index, ClaimOutcome::granted);
  co_await answer_accepted(call, caller->grant());
}

// The ttl may have been raised since the key was first used, but its items' records were made for the old
// one: the key keeps the shorter.
Task<std::shared_ptr<const Policy>> Proxy::policy_of_key(const Scope& scope,
                                                         std::shared_ptr<const Policy> policy) {
  const Result<Record> standing =
      co_await store_call<Record>(worker_, [&](auto& reply) { return context_.store.lookup(scope, reply); });
  // A store that cannot tell will not grant either.
  if (!standing || standing->ttl >= policy->ttl) co_return policy;
  Policy shorter = *policy;
  shorter.ttl = standing->ttl;
  co_return std::make_shared<const Policy>(std::move(shorter));
}

// The work goes on; here is where to ask for it.
Task<> Proxy::answer_accepted(Call& call, const Grant& grant) {
  call.outcome = RequestOutcome::in_progress;
  call.operation_id = OperationIdText(grant.operation_id);
  call.epoch = grant.epoch;
  Result<Record> record = co_await store_call<Record>(
      worker_, [&](auto& reply) { return context_.store.lookup(grant.operation_id, reply); });
  if (!record)
    co_return co_await refuse(call,
                              {.code = ProblemCode::in_progress, .operation_id = call.operation_id.view()});
  co_await respond_accepted(call, *record);
}

}  // namespace onceward
