#include "api/claims_api.hpp"

#include <algorithm>
#include <array>

#include "api/claim_input.hpp"
#include "api/claim_token.hpp"
#include "api/emission_json.hpp"
#include "api/response_json.hpp"
#include "api/result_json.hpp"
#include "base/await.hpp"
#include "base/sha256.hpp"
#include "base/time_text.hpp"
#include "core/decide.hpp"
#include "core/scope.hpp"

namespace onceward {
namespace {

namespace json = boost::json;

constexpr std::int64_t lease_ms_max = std::int64_t{24} * 3600 * 1000;
constexpr std::int64_t ttl_ms_max = std::int64_t{36500} * 24 * 3600 * 1000;

bool is_held(State state) { return state == State::claimed || state == State::processing; }

// An attempt that its asker has named gets the same owner whenever it is asked for again, so that a claim
// whose answer was lost is found to be the asker's own.
OwnerNonce owner_of(const ClaimInput& input, const Scope& scope, Random& random) {
  OwnerNonce owner;
  if (input.claim_id.empty()) {
    random.fill(owner.data);
    return owner;
  }
  const std::string_view key(reinterpret_cast<const char*>(scope.data.data()), scope.data.size());
  const Sha256Bytes named = hmac_sha256(key, "onceward claim\n" + input.claim_id);
  std::copy_n(named.begin(), owner.data.size(), owner.data.begin());
  return owner;
}

ClaimRequest claim_request(const ClaimInput& input, const ApiRules& rules, const OperationRule& rule,
                           const Scope& scope, FingerprintResult printed) {
  const Policy& policy = *rule.policy;
  ClaimRequest request;
  request.scope = scope;
  request.start = State::claimed;
  request.fingerprint = printed.fingerprint;
  RequestInfo info{input.tenant.value_or(""), input.operation,
                   rules.hash_keys ? key_hint(input.key, rules.secret) : input.key, std::move(printed.leaves),
                   owner_tag_of(input.tenant, input.caller, rules.secret)};
  info.reference = input.reference;
  request.request = std::make_shared<const RequestInfo>(std::move(info));
  request.lease = input.lease.value_or(policy.lease);
  request.max_hold = policy.max_hold;
  request.ttl = input.ttl.value_or(policy.ttl);
  request.receipt_ttl = policy.receipt_ttl;
  request.take_unknown = policy.on_unknown == OnUnknown::forward;
  return request;
}

json::object claim_json(const Record& record) {
  json::object out;
  out["operation_id"] = to_string(record.operation_id);
  out["state"] = to_string(record.state);
  out["epoch"] = record.epoch;
  if (is_held(record.state)) out["lease_expires_at"] = time_text(record.lease_until);
  return out;
}

struct Rejected {
  ProblemCode code;
  ClaimOutcome outcome;
  std::string_view decision;
};

Rejected rejected(Rejection why) {
  switch (why) {
    case Rejection::mismatch:
      return {ProblemCode::key_reused, ClaimOutcome::mismatch, "mismatch"};
    case Rejection::unknown:
      return {ProblemCode::outcome_unknown, ClaimOutcome::unknown, "unknown"};
    case Rejection::expired:
      return {ProblemCode::record_expired, ClaimOutcome::expired, "expired"};
    case Rejection::not_stored:
      return {ProblemCode::response_not_stored, ClaimOutcome::not_stored, "not_stored"};
    case Rejection::duplicate_fact:
    case Rejection::suspected:
      break;  // claims through the API carry no marks
  }
  return {ProblemCode::internal_error, ClaimOutcome::refused, ""};
}

// What a verb's body must have: the token of a claim of the operation in the path.
struct VerbInput {
  explicit VerbInput(ApiCall& call) : body(call.body), object(body.object()) {
    const std::optional<OperationId> id = operation_id_from_string(call.id);
    if (!object) return;
    const std::string token = object->needed_text("token", 1024);
    if (id) fence = fence_from_token(token, *id);
  }
  JsonBody body;
  std::optional<JsonObject> object;
  std::optional<Fence> fence;
};

std::optional<UnknownCause> cause_from(std::string_view text) {
  using enum UnknownCause;
  for (const UnknownCause cause : {timeout, reset, half_answer, upstream_status, declared}) {
    if (to_string(cause) == text) return cause;
  }
  return std::nullopt;
}

}  // namespace

Task<Result<ClaimReply>> ClaimsApi::ask(Executor& executor, const ClaimRequest& request) {
  const MonoTime began = clock_.mono();
  Result<ClaimReply> reply =
      co_await store_call<ClaimReply>(executor, [&](auto& r) { return store_.claim(request, r); });
  metrics_.store_call(StoreVerb::claim, clock_.mono() - began);
  co_return reply;
}

Task<> ClaimsApi::claim(ApiCall& call) {
  const ApiRules& rules = *call.rules;
  ClaimInput input;
  if (const auto refused = read_claim(call.body, rules, input))
    co_return co_await refuse(call, {.code = refused->code, .detail = refused->detail});
  const OperationRule& rule = rules.operation(input.operation);
  const Scope scope = scope_of(input.tenant, input.caller, input.operation, input.key, rules.secret);
  Result<FingerprintResult> printed = fingerprint_of(input, rule, scope, fingerprint_version);
  if (!printed) co_return co_await refuse_error(call, printed.error());
  const std::vector<Leaf> leaves = printed->leaves;
  ClaimRequest request = claim_request(input, rules, rule, scope, std::move(*printed));
  request.owner = owner_of(input, scope, random_);
  std::array<std::uint8_t, 2> chance;
  random_.fill(chance);
  request.operation_id =
      make_operation_id(scope, clock_.now(), static_cast<std::uint16_t>(chance[0] | chance[1] << 8));

  Result<ClaimReply> reply = co_await ask(call.executor(), request);
  // I10: it may have been written all the same. Asked again under the same owner, a claim that stands is
  // found to be ours, and one that does not is made.
  if (!reply && reply.error().code == Errc::unavailable) reply = co_await ask(call.executor(), request);
  if (!reply) {
    const bool damaged = reply.error().code == Errc::unreadable;
    metrics_.claim(rule.metrics_index, damaged ? ClaimOutcome::unreadable : ClaimOutcome::unavailable);
    co_return co_await refuse_error(call, reply.error());
  }

  const Record& record = reply->record;
  const std::string id = to_string(record.operation_id);
  Decision decision = decide(*reply, request.fingerprint);
  if (const auto* again = std::get_if<CompareAgain>(&decision)) {
    const Result<FingerprintResult> as_then = fingerprint_of(input, rule, scope, again->version);
    Fingerprint compared = as_then ? as_then->fingerprint : Fingerprint{};
    compared.version = again->version;  // one that was given is whatever its maker made it
    decision = decide(*reply, compared);
  }
  OperationMetrics& metrics = metrics_.operation(rule.metrics_index);
  if (std::holds_alternative<Execute>(decision)) {
    metrics_.claim(rule.metrics_index, ClaimOutcome::granted);
    json::object out = claim_json(record);
    out["decision"] = "proceed";
    out["token"] = claim_token(fence_of(record));
    co_await answer(call, 201, out);
  } else if (std::holds_alternative<Replay>(decision)) {
    metrics_.claim(rule.metrics_index, ClaimOutcome::replay);
    metrics.replays.add();
    json::object out = claim_json(record);
    out["decision"] = "replay";
    out["response"] = response_json(*record.response);
    if (record.result) out["result"] = result_json(*record.result);
    co_await answer(call, 200, out);
  } else if (std::holds_alternative<Wait>(decision)) {
    // The asker's own attempt, named by its claim_id, has ended; waiting for it would be for ever.
    if (record.owner == request.owner)
      co_return co_await refuse(call, {.code = ProblemCode::stale_claim, .operation_id = id}, "released");
    metrics_.claim(rule.metrics_index, ClaimOutcome::in_progress);
    metrics.in_progress_rejected.add();
    co_await refuse(call, {.code = ProblemCode::in_progress, .operation_id = id}, "in_progress");
  } else {
    const Rejected why = rejected(std::get<Reject>(decision).why);
    metrics_.claim(rule.metrics_index, why.outcome);
    Problem problem{.code = why.code, .operation_id = id};
    std::vector<std::string> changed;
    if (why.outcome == ClaimOutcome::mismatch) {
      metrics.mismatches.add();
      changed = changed_pointers(record.request->leaves, leaves);
      problem.changed = changed;
      problem.status = rule.policy->mismatch_status;
    }
    if (why.outcome == ClaimOutcome::not_stored && record.response)
      problem.original_status = record.response->status;
    co_await refuse(call, problem, why.decision);
  }
}

// Whether the verb was done; the call is answered either way.
template <class Start>
Task<bool> ClaimsApi::act(ApiCall& call, StoreVerb verb, Start start) {
  Result<Record> done = Error{};
  for (int attempt = 0; attempt < 2; ++attempt) {
    const MonoTime began = clock_.mono();
    done = co_await store_call<Record>(call.executor(), start);
    metrics_.store_call(verb, clock_.mono() - began);
    if (done || done.error().code != Errc::unavailable) break;
  }
  if (done) {
    co_await answer(call, 200, claim_json(*done));
    co_return true;
  }
  const Errc code = done.error().code;
  if (code == Errc::stale || code == Errc::not_found) {
    co_await refuse(call, {.code = ProblemCode::stale_claim, .operation_id = call.id});
  } else if (code == Errc::conflict) {
    co_await refuse(call,
                    {.code = ProblemCode::conflict, .detail = done.error().message, .operation_id = call.id});
  } else {
    co_await refuse_error(call, done.error());
  }
  co_return false;
}

Task<> ClaimsApi::dispatch(ApiCall& call) {
  VerbInput input(call);
  if (input.object) input.object->refuse_unknown();
  if (!input.body.ok()) co_return co_await refuse_input(call, input.body.error());
  if (!input.fence) co_return co_await refuse(call, {.code = ProblemCode::stale_claim});
  co_await act(call, StoreVerb::dispatch, [&](auto& reply) { return store_.dispatch(*input.fence, reply); });
}

Task<> ClaimsApi::renew(ApiCall& call) {
  VerbInput input(call);
  std::optional<std::int64_t> lease_ms;
  if (input.object) {
    lease_ms = input.object->number("lease_ms", 1, lease_ms_max);
    input.object->refuse_unknown();
  }
  if (!input.body.ok()) co_return co_await refuse_input(call, input.body.error());
  if (!input.fence) co_return co_await refuse(call, {.code = ProblemCode::stale_claim});
  RenewRequest request{*input.fence, Duration(lease_ms.value_or(0))};
  if (!lease_ms) {
    // As long as its operation's claims are; what the claim itself asked for is not kept.
    const Result<Record> record = co_await store_call<Record>(
        call.executor(), [&](auto& reply) { return store_.lookup(input.fence->scope, reply); });
    if (!record && record.error().code != Errc::not_found)
      co_return co_await refuse_error(call, record.error());
    request.lease = record ? call.rules->operation(record->request->operation).policy->lease : Duration(1);
  }
  co_await act(call, StoreVerb::renew, [&](auto& reply) { return store_.renew(request, reply); });
}

Task<Result<std::shared_ptr<const Events>>> ClaimsApi::events_of(ApiCall& call,
                                                                 const CompleteRequest& request,
                                                                 const Emissions* emitted) {
  const Result<Record> record = co_await store_call<Record>(
      call.executor(), [&](auto& reply) { return store_.lookup(request.fence.scope, reply); });
  // Without a record there is nothing to complete: the verb itself says so.
  if (!record && record.error().code == Errc::not_found) co_return std::shared_ptr<const Events>();
  if (!record) co_return record.error();
  const Policy& policy = *call.rules->operation(record->request->operation).policy;
  co_return events_.of(*record, policy, request.as, request.response.get(), request.result.get(), emitted);
}

Task<> ClaimsApi::complete(ApiCall& call) {
  VerbInput input(call);
  CompleteRequest request;
  std::shared_ptr<const Emissions> emitted;
  if (input.object) {
    JsonObject& object = *input.object;
    request.response = read_response(object, call.rules->max_response);
    if (!request.response) object.fail("response", "is missing");
    const bool good = request.response && request.response->status < 400;
    const std::string as = object.text("as", 16).value_or(good ? "succeeded" : "failed");
    if (as != "succeeded" && as != "failed") object.fail("as", "must be succeeded or failed");
    request.as = as == "failed" ? State::failed : State::succeeded;
    if (const auto ttl = object.number("ttl_ms", 1, ttl_ms_max)) request.ttl = Duration(*ttl);
    request.result = read_result(object);
    emitted = read_emissions(object, call.rules->max_response);
    if (emitted && !events_.kept()) object.fail("events", "cannot be kept by this store");
    object.refuse_unknown();
  }
  if (!input.body.ok()) co_return co_await refuse_input(call, input.body.error());
  if (!input.fence) co_return co_await refuse(call, {.code = ProblemCode::stale_claim});
  request.fence = *input.fence;
  if (emitted || call.rules->tells_events) {
    Result<std::shared_ptr<const Events>> events = co_await events_of(call, request, emitted.get());
    if (!events) co_return co_await refuse_error(call, events.error());
    request.events = std::move(*events);
  }
  co_await act(call, StoreVerb::complete, [&](auto& reply) { return store_.complete(request, reply); });
  events_.written(request.fence.scope, request.events);  // also when it failed: a look costs little
}

Task<> ClaimsApi::release(ApiCall& call) {
  VerbInput input(call);
  if (input.object) input.object->refuse_unknown();
  if (!input.body.ok()) co_return co_await refuse_input(call, input.body.error());
  if (!input.fence) co_return co_await refuse(call, {.code = ProblemCode::stale_claim});
  const ReleaseRequest request{*input.fence, false};
  co_await act(call, StoreVerb::release, [&](auto& reply) { return store_.release(request, reply); });
}

Task<> ClaimsApi::unknown(ApiCall& call) {
  VerbInput input(call);
  UnknownRequest request;
  request.evidence.cause = UnknownCause::declared;
  if (input.object) {
    JsonObject& object = *input.object;
    if (const auto text = object.text("cause", 32)) {
      const auto cause = cause_from(*text);
      if (!cause) object.fail("cause", "must be timeout, reset, half_answer, upstream_status or declared");
      request.evidence.cause = cause.value_or(UnknownCause::declared);
    }
    request.evidence.status_seen =
        static_cast<std::uint16_t>(object.number("status_seen", 0, 999).value_or(0));
    request.evidence.bytes_seen =
        static_cast<std::uint64_t>(object.number("bytes_seen", 0, std::int64_t{1} << 53).value_or(0));
    object.refuse_unknown();
  }
  if (!input.body.ok()) co_return co_await refuse_input(call, input.body.error());
  if (!input.fence) co_return co_await refuse(call, {.code = ProblemCode::stale_claim});
  request.fence = *input.fence;
  const Result<Record> before = co_await store_call<Record>(
      call.executor(), [&](auto& reply) { return store_.lookup(request.fence.scope, reply); });
  const bool done =
      co_await act(call, StoreVerb::unknown, [&](auto& reply) { return store_.unknown(request, reply); });
  // A call that is repeated finds it unknown already and is not counted again.
  if (done && before && before->state != State::unknown)
    metrics_.unknown(call.rules->operation(before->request->operation).metrics_index, request.evidence.cause);
}

}  // namespace onceward
