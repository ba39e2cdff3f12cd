#include "proxy/proxy.hpp"

#include <array>
#include <functional>

#include "base/assert.hpp"
#include "base/await.hpp"
#include "core/key.hpp"
#include "core/probe_target.hpp"
#include "core/request_marks.hpp"
#include "core/scope.hpp"
#include "http/request_writer.hpp"
#include "proxy/call.hpp"
#include "proxy/derived_key.hpp"
#include "proxy/forwarded_head.hpp"
#include "proxy/prefer.hpp"

namespace onceward {
namespace {

using http::ReadBody;
using http::RequestHead;

constexpr std::array<std::string_view, 4> control_response_names = {"Onceward-Outcome", "Onceward-Ttl",
                                                                    "Onceward-Resource", "Onceward-Failure"};

bool is_safe(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "TRACE";
}

std::string_view key_header(const KeyPolicy& policy) {
  return policy.from == KeySource::named_header ? policy.from_argument : policy.header;
}

StoreVerb verb_of(std::string_view name) {
  if (name == "claim") return StoreVerb::claim;
  if (name == "complete") return StoreVerb::complete;
  if (name == "lookup") return StoreVerb::lookup;
  if (name == "release") return StoreVerb::release;
  return StoreVerb::unknown;
}

http::PlainAnswer plain(const Problem& problem) { return {problem_headers(problem), problem_json(problem)}; }

// The lines of the key's header. There may be one only, so a second is all that has to be seen.
struct KeyLines {
  std::array<std::string_view, 2> found;

  std::span<const std::string_view> of(const http::HeaderList& headers, std::string_view name) {
    std::size_t count = 0;
    for (const http::HeaderView& header : headers)
      if (count < found.size() && http::same_name(header.name, name)) found[count++] = header.value;
    return std::span(found).first(count);
  }
};

Result<FingerprintResult> print(const Proxy::Call& call, std::string_view operation, std::string_view body,
                                const Scope& scope, std::uint16_t version) {
  const RequestHead& request = call.exchange.request();
  std::vector<std::pair<std::string_view, std::string_view>> counted_headers;
  for (const std::string& wanted : call.operation->policy->fingerprint.headers) {
    for (const http::HeaderView& header : request.headers) {
      if (http::same_name(header.name, wanted)) counted_headers.emplace_back(wanted, header.value);
    }
  }
  const FingerprintInput input{.method = request.method,
                               .operation = operation,
                               .path = request.path(),
                               .query = request.query(),
                               .content_type = request.headers.find("Content-Type").value_or(""),
                               .body = body,
                               .headers = counted_headers};
  return fingerprint(version, input, call.operation->fingerprint, scope);
}

const std::function<http::PlainAnswer(int, http::RelayOutcome)> relay_error = [](int status,
                                                                                 http::RelayOutcome how) {
  ProblemCode code = ProblemCode::bad_request;
  if (how == http::RelayOutcome::upstream_unreachable) code = ProblemCode::upstream_unreachable;
  if (how == http::RelayOutcome::upstream_broken) code = ProblemCode::upstream_unreachable;
  if (how == http::RelayOutcome::upstream_timeout) code = ProblemCode::upstream_timeout;
  if (status == 408) code = ProblemCode::request_timeout;
  const bool broken = how == http::RelayOutcome::upstream_broken;
  return plain(
      {.code = code, .detail = broken ? "The upstream closed the connection without a whole answer." : ""});
};

}  // namespace

// Feeds the worker's own metrics.
class Proxy::Observer final : public EngineObserver {
 public:
  Observer(Metrics& metrics, Metrics::Shard& shard, Log& log) : metrics_(metrics), shard_(shard), log_(log) {}
  void store_answered(std::string_view verb, std::chrono::nanoseconds took, bool failed) override {
    shard_.store_call(verb_of(verb), took, failed);
  }
  void became_unknown(const Record& record, UnknownCause cause) override {
    shard_.unknown(metrics_.known_operation(record.request->operation), cause);
    log_.warning("outcome unknown", {{"operation_id", to_string(record.operation_id)},
                                     {"epoch", static_cast<std::int64_t>(record.epoch)},
                                     {"cause", to_string(cause)},
                                     {"status_seen", std::int64_t{record.evidence.status_seen}},
                                     {"bytes_seen", static_cast<std::int64_t>(record.evidence.bytes_seen)}});
  }
  void probed(const Record& record, ProbeOutcome outcome) override {
    shard_.probe(metrics_.known_operation(record.request->operation), outcome);
    const std::string id = to_string(record.operation_id);
    if (outcome == ProbeOutcome::gave_up) {
      log_.error("gave up probing: an operator must resolve the operation", {{"operation_id", id}});
    } else if (outcome == ProbeOutcome::applied || outcome == ProbeOutcome::not_applied) {
      log_.info("probe resolved an unknown outcome", {{"operation_id", id}, {"answer", to_string(outcome)}});
    }
  }

 private:
  Metrics& metrics_;
  Metrics::Shard& shard_;
  Log& log_;
};

Proxy::Proxy(const ProxyContext& context, net::Worker& worker, std::size_t worker_index)
    : context_(context),
      worker_(worker),
      worker_index_(worker_index),
      metrics_(context.metrics.shard(worker_index)),
      observer_(std::make_unique<Observer>(context.metrics, metrics_, context.log)),
      prober_(context.log),
      well_known_(context.store, context.bulk_board) {}

void Proxy::use(std::shared_ptr<const Rules> rules, std::shared_ptr<http::Upstream> upstream) {
  rules_ = std::move(rules);
  upstream_ = std::move(upstream);
  prober_.use(rules_, upstream_);
}

http::PlainAnswer Proxy::protocol_error(int status, std::string_view detail) {
  const auto code = [&] {
    switch (status) {
      case 405:
        return ProblemCode::method_not_allowed;
      case 408:
        return ProblemCode::request_timeout;
      case 413:
        return ProblemCode::request_too_large;
      case 417:
        return ProblemCode::expectation_failed;
      case 431:
        return ProblemCode::headers_too_large;
      case 500:
        return ProblemCode::internal_error;
      case 503:
        return ProblemCode::service_overloaded;
      default:
        return ProblemCode::bad_request;
    }
  }();
  return plain({.code = code, .status = status, .detail = detail});
}

Task<> Proxy::handle(http::Exchange& exchange) {
  const RequestHead& request = exchange.request();
  const Operation& operation = rules_->operation_of(request.method, request.path());
  const Policy& policy = *operation.policy;
  const bool is_ours = request.path().starts_with(well_known_prefix);
  const bool passes = is_safe(request.method) || policy.mode == Mode::off ||
                      (!derives_from_body(policy.key) && !request.headers.find(key_header(policy.key)) &&
                       !(policy.key.required && policy.mode == Mode::enforce));
  return passes && !is_ours ? handle_unguarded(exchange, operation) : handle_guarded(exchange, operation);
}

// Nothing else than passing through, which should not cost a frame of what guarding needs.
Task<> Proxy::handle_unguarded(http::Exchange& exchange, const Operation& operation) {
  Call call(exchange, rules_, upstream_, operation);
  TraceLine trace;
  const http::RelayOptions options = relay_options(call, trace);
  passed(call, co_await http::relay(exchange, *call.upstream, options));
  account(call);
}

Task<> Proxy::handle_guarded(http::Exchange& exchange, const Operation& operation) {
  const RequestHead& request = exchange.request();
  Call call(exchange, rules_, upstream_, operation);
  const Policy& policy = *call.operation->policy;
  if (request.path().starts_with(well_known_prefix)) {
    co_await well_known_.handle(exchange, *call.rules);
  } else if (derives_from_body(policy.key)) {
    co_await guard(call, std::nullopt);
  } else if (const std::string_view header = key_header(policy.key); !request.headers.find(header)) {
    co_await refuse(call, {.code = ProblemCode::missing_key});
  } else {
    KeyLines lines;
    Result<std::optional<std::string>> key = key_from_lines(lines.of(request.headers, header), policy.key);
    if (key) {
      co_await guard(call, std::move(**key));
    } else if (policy.mode == Mode::observe) {
      co_await pass_through(call);
    } else {
      co_await refuse(call, {.code = ProblemCode::invalid_key, .detail = key.error().message});
    }
  }
  account(call);
}

http::RelayOptions Proxy::relay_options(const Call& call, TraceLine& trace) {
  const bool begins_trace = !has_trace(call.exchange.request().headers);
  if (begins_trace) trace = begin_trace(context_.random);
  http::RelayOptions options;
  options.protected_names = call.rules->protected_names();
  options.drop_request = dropped_request_names(begins_trace);
  options.drop_response = control_response_names;
  if (begins_trace) options.extra_request_lines = trace.view();
  options.error_answer = &relay_error;
  return options;
}

void Proxy::passed(Call& call, const http::RelayResult& result) {
  if (result.outcome == http::RelayOutcome::upstream_unreachable) call.outcome = RequestOutcome::unreachable;
}

// What looked as if it was to be guarded and is not.
Task<> Proxy::pass_through(Call& call) {
  TraceLine trace;
  const http::RelayOptions options = relay_options(call, trace);
  passed(call, co_await http::relay(call.exchange, *call.upstream, options));
}

Task<> Proxy::guard(Call& call, std::optional<std::string> key) {
  http::Exchange& exchange = call.exchange;
  const RequestHead& request = exchange.request();
  const Rules& rules = *call.rules;
  const Operation& operation = *call.operation;
  const bool observes = operation.policy->mode == Mode::observe;

  const auto identified = identify(rules.identity, request, exchange.peer());
  if (const auto* refused = std::get_if<IdentityRefused>(&identified)) {
    if (observes) co_return co_await pass_through(call);
    co_return co_await refuse(call, {.code = refused->code, .detail = refused->detail});
  }
  const Identity& identity = std::get<Identity>(identified);
  // Observing never blocks: what could not be kept in memory is passed on unseen.
  if (observes &&
      (request.body.kind == http::Body::Kind::chunked || request.body.bytes > rules.max_request)) {
    co_return co_await pass_through(call);
  }

  std::string body;
  switch (co_await exchange.read_body(rules.max_request, body)) {
    case ReadBody::ok:
      break;
    case ReadBody::closed:
      co_return;  // the client left mid-body: nothing was claimed, nothing happens
    case ReadBody::too_large:
      co_return co_await refuse(call, {.code = ProblemCode::request_too_large});
    case ReadBody::timeout:
      co_return co_await refuse(call, {.code = ProblemCode::request_timeout});
    case ReadBody::bad:
      co_return co_await refuse(
          call, {.code = ProblemCode::bad_request, .detail = "The body's framing is broken."});
  }
  call.body_bytes = body.size();
  if (!key) {
    Result<std::optional<std::string>> derived = derive_key(operation.policy->key, body);
    if (!observes && !derived) {
      co_return co_await refuse(call, {.code = ProblemCode::invalid_key, .detail = derived.error().message});
    }
    if (!derived || !*derived) {
      const bool required = operation.policy->key.required && !observes;
      if (required) co_return co_await refuse(call, {.code = ProblemCode::missing_key});
      co_return co_await run_without_key(call, std::move(body));
    }
    key = std::move(*derived);
    if (!observes) call.derived_key = sendable_key(*key);
  }

  if (operation.bulk) co_return co_await guard_bulk(call, identity, std::move(*key), std::move(body));

  std::shared_ptr<UpstreamWork> work = make_work(call, std::move(body));
  Command command = make_command(call, identity, *key, *work);
  // By reference: it is asked while this frame lives, if ever.
  const auto print_as = [&call, &work, scope = command.scope](std::uint16_t version) -> Result<Fingerprint> {
    const Result<FingerprintResult> printed = print(call, call.info->operation, work->body(), scope, version);
    if (!printed) return printed.error();
    return printed->fingerprint;
  };
  command.fingerprint_as = std::ref(print_as);
  const ForwardedHead head(call, context_.random, context_.store.serves_transactions());
  work->head = &head;
  work->client = &exchange;
  Outcome outcome = co_await context_.engine.run(worker_, std::move(command), work);
  work->client = nullptr;
  work->head = nullptr;
  call.upstream_took = work->took();
  co_await RoundEnd(worker_, Leaving::answer);
  co_await answer(call, outcome, work.get());
}

Command Proxy::make_command(Call& call, const Identity& identity, const std::string& key,
                            const UpstreamWork& work) {
  const RequestHead& request = call.exchange.request();
  const Rules& rules = *call.rules;
  const Policy& policy = *call.operation->policy;
  const auto info = std::make_shared<RequestInfo>();
  info->operation = call.operation_name();
  Command command;
  command.scope = scope_of(identity.tenant, identity.caller, info->operation, key, rules.secret);
  context_.engine.expect(command.scope);
  call.key_hash = key_hint(key, rules.secret);
  Result<FingerprintResult> printed =
      print(call, info->operation, work.body(), command.scope, fingerprint_version);
  ONCEWARD_ASSERT(printed.has_value());
  command.fingerprint = printed->fingerprint;
  info->leaves = std::move(printed->leaves);
  if (identity.tenant) info->tenant = *identity.tenant;
  info->key_hint = rules.hash_keys ? call.key_hash : key;
  info->owner_tag = owner_tag(identity, rules.secret);
  if (policy.probe && needs_request(policy.probe->target)) {
    // What cannot be filled in leaves the operation without a probe: it is then held, and said so when due.
    const Result<std::string> target =
        fill_in_request(policy.probe->target, {info->tenant, key, work.body()});
    if (target) info->probe_target = *target;
  }
  if (call.operation->reference)
    info->reference = reference_of(*call.operation->reference, request.headers, work.body());
  if (policy.unique || policy.suspect) {
    command.confirmed = is_confirmed(request.headers);
    info->marks =
        marks_of(policy, {identity.tenant, identity.caller, info->operation, work.body(), command.confirmed},
                 rules.secret);
  }
  command.request = info;
  command.policy = call.operation->policy;
  command.wait = wait_limit(policy.in_progress, preferred_wait(request.headers));
  command.observer = observer_.get();
  command.prober = &prober_;
  if (rules.quotas.any() && policy.mode != Mode::observe) {
    command.admission =
        context_.quotas.admission(info->owner_tag, rules.quotas, policy.ttl + policy.receipt_ttl);
  }
  call.info = command.request;
  return command;
}

// A body that was looked into for a key and has none: the answer is passed on, nothing is kept.
Task<> Proxy::run_without_key(Call& call, std::string body) {
  std::shared_ptr<UpstreamWork> work = make_work(call, std::move(body));
  const ForwardedHead head(call, context_.random, context_.store.serves_transactions());
  work->head = &head;
  Outcome outcome = co_await context_.engine.run_unguarded(work);
  work->head = nullptr;
  call.upstream_took = work->took();
  co_await answer(call, outcome, work.get());
}

std::shared_ptr<UpstreamWork> Proxy::make_work(Call& call, std::string body) {
  if (call.exchange.request().coded) body = http::as_chunks(body);
  UpstreamWork::Request sent{std::string(call.exchange.request().method), std::move(body)};
  return std::make_shared<UpstreamWork>(call.upstream, call.operation->policy, call.rules->max_response,
                                        std::move(sent), metrics_.operation(call.operation->metrics_index));
}

void Proxy::account(Call& call) {
  const auto took = net::Worker::now() - call.began;
  metrics_.request(call.operation->metrics_index, call.outcome, took);
  if (!context_.log.access_enabled()) return;
  const RequestHead& request = call.exchange.request();
  context_.log.access(worker_index_,
                      {.time = context_.clock.now(),
                       .method = request.method,
                       .path = request.path(),
                       .status = call.exchange.status(),
                       .operation = call.operation->name.empty() ? "default" : call.operation->name,
                       .outcome = to_string(call.outcome),
                       .duration = took,
                       .upstream_duration = call.upstream_took,
                       .operation_id = call.operation_id.view(),
                       .epoch = call.epoch,
                       .key_hash = call.key_hash,
                       .bytes_in = call.body_bytes,
                       .bytes_out = call.exchange.bytes_sent(),
                       .peer = call.exchange.peer().address});
}

}  // namespace onceward
