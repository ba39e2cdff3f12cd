#include "proxy/well_known.hpp"

#include <boost/json.hpp>

#include "base/await.hpp"
#include "base/base64.hpp"
#include "base/time_text.hpp"
#include "ops/problem.hpp"

namespace onceward {
namespace {

namespace json = boost::json;

constexpr std::string_view json_lines = "Content-Type: application/json\r\nCache-Control: no-store\r\n";

Task<> respond_problem(http::Exchange& exchange, ProblemCode code, std::string_view detail = {}) {
  const Problem problem{.code = code, .detail = detail};
  (void)co_await exchange.respond(problem_status(problem), problem_headers(problem), problem_json(problem));
}

std::string_view to_text(Mode mode) {
  switch (mode) {
    case Mode::enforce:
      return "enforce";
    case Mode::observe:
      return "observe";
    case Mode::off:
      return "off";
  }
  return {};
}

std::string_view to_text(OnUnknown mode) {
  switch (mode) {
    case OnUnknown::hold:
      return "hold";
    case OnUnknown::forward:
      return "forward";
    case OnUnknown::probe:
      return "probe";
  }
  return {};
}

double seconds(Duration duration) { return static_cast<double>(duration.count()) / 1000.0; }

json::object rules_of(const Operation& operation, const Rules& rules) {
  const Policy& policy = *operation.policy;
  json::object fingerprint;
  fingerprint["mode"] = policy.fingerprint.mode == FingerprintMode::canonical ? "canonical" : "raw";
  fingerprint["ignore"] = json::value_from(policy.fingerprint.ignore);
  fingerprint["include"] = json::value_from(policy.fingerprint.include);
  fingerprint["query"] = policy.fingerprint.query;
  fingerprint["headers"] = json::value_from(policy.fingerprint.headers);
  json::object out;
  out["mode"] = to_text(policy.mode);
  out["key"] = {{"header", policy.key.header},
                {"required", policy.key.required},
                {"strict", policy.key.strict},
                {"max_length", policy.key.max_length}};
  out["ttl_seconds"] = seconds(policy.ttl);
  out["receipt_ttl_seconds"] = seconds(policy.receipt_ttl);
  out["in_progress"] = {{"wait_seconds", seconds(policy.in_progress.wait)},
                        {"max_wait_seconds", seconds(policy.in_progress.max_wait)},
                        {"then", policy.in_progress.then == InProgressThen::accept ? "accept" : "reject"}};
  out["mismatch_status"] = policy.mismatch_status;
  out["fingerprint"] = std::move(fingerprint);
  out["replay"] = {{"header", policy.replay.header},
                   {"status", policy.replay.status_200 ? "200" : "original"}};
  out["on_unknown"] = to_text(policy.on_unknown);
  if (operation.bulk) {
    const BulkRules& bulk = *operation.bulk;
    out["bulk"] = {{"items", bulk.items},
                   {"id", bulk.id},
                   {"request", bulk.method + " " + bulk.target},
                   {"parallel", bulk.parallel},
                   {"max_items", bulk.items_max}};
  }
  out["max_request_bytes"] = rules.max_request;
  out["max_response_bytes"] = rules.max_response;
  return out;
}

json::array headers_of(const Response& response) {
  json::array headers;
  std::string_view left = response.headers;
  while (!left.empty()) {
    const std::size_t end = left.find("\r\n");
    const std::string_view line = left.substr(0, end);
    left.remove_prefix(end == std::string_view::npos ? left.size() : end + 2);
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    headers.push_back(json::array{line.substr(0, colon), line.substr(colon + 2)});
  }
  return headers;
}

json::object result_of(const OperationResult& result) {
  json::object out;
  if (!result.resource_id.empty()) {
    out["resourceType"] = result.resource_type;
    out["resourceId"] = result.resource_id;
  }
  if (!result.failure_code.empty()) out["failureCode"] = result.failure_code;
  return out;
}

}  // namespace

std::string operation_location(const OperationId& id) {
  return std::string(well_known_prefix) + "operations/" + to_string(id);
}

std::string policy_json(const Rules& rules) {
  json::object out;
  out["defaults"] = rules_of(rules.fallback, rules);
  json::array operations;
  for (const Operation& operation : rules.operations) {
    json::object entry = rules_of(operation, rules);
    entry["name"] = operation.name;
    entry["match"] = operation.match;
    operations.push_back(std::move(entry));
  }
  out["operations"] = std::move(operations);
  return json::serialize(out);
}

std::string operation_json(const Record& record, const std::optional<BulkProgress>& progress) {
  json::object out;
  out["operationId"] = to_string(record.operation_id);
  out["state"] = to_string(record.state);
  out["epoch"] = record.epoch;
  out["operation"] = record.request->operation;
  out["createdAt"] = time_text(record.created_at);
  out["updatedAt"] = time_text(record.updated_at);
  if (record.state == State::unknown) {
    out["cause"] = to_string(record.evidence.cause);
    if (record.evidence.status_seen != 0) out["statusSeen"] = record.evidence.status_seen;
    if (record.evidence.bytes_seen != 0) out["bytesSeen"] = record.evidence.bytes_seen;
  }
  if (is_final(record.state) && record.state != State::expired)
    out["expiresAt"] = time_text(record.expires_at);
  if (!record.request->reference.empty()) out["reference"] = record.request->reference;
  if (record.result) out["result"] = result_of(*record.result);
  if (progress) {
    out["progress"] = {{"total", progress->total}, {"done", progress->done}, {"failed", progress->failed}};
  }
  if (record.response) {
    json::object response;
    response["status"] = record.response->status;
    response["headers"] = headers_of(*record.response);
    response["stored"] = !record.response->body_omitted;
    if (!record.response->body_omitted) response["body"] = to_base64(record.response->body);
    out["response"] = std::move(response);
  }
  return json::serialize(out);
}

Task<> WellKnown::handle(http::Exchange& exchange, const Rules& rules) {
  const http::RequestHead& request = exchange.request();
  if (request.method != "GET" && request.method != "HEAD") {
    co_return co_await respond_problem(exchange, ProblemCode::method_not_allowed);
  }
  const std::string_view page = request.path().substr(well_known_prefix.size());
  constexpr std::string_view operations = "operations/";
  constexpr std::string_view problems = "problems/";
  if (page == "policy") {
    (void)co_await exchange.respond(200, json_lines, policy_json(rules));
  } else if (page.starts_with(operations)) {
    co_await operation(exchange, rules, page.substr(operations.size()));
  } else if (const auto problem = page.starts_with(problems) ? problem_page_json(page.substr(problems.size()))
                                                             : std::nullopt) {
    (void)co_await exchange.respond(200, "Content-Type: application/json\r\n", *problem);
  } else {
    co_await respond_problem(exchange, ProblemCode::not_found);
  }
}

Task<> WellKnown::operation(http::Exchange& exchange, const Rules& rules, std::string_view id_text) {
  const std::optional<OperationId> id = operation_id_from_string(id_text);
  const auto identity = identify(rules.identity, exchange.request(), exchange.peer());
  if (const auto* refused = std::get_if<IdentityRefused>(&identity)) {
    co_return co_await respond_problem(exchange, refused->code, refused->detail);
  }
  if (!id) co_return co_await respond_problem(exchange, ProblemCode::not_found);
  const Result<Record> record = co_await store_call<Record>(
      exchange.executor(), [&](auto& reply) { return store_.lookup(*id, reply); });
  if (!record && record.error().code != Errc::not_found) {
    const bool damaged = record.error().code == Errc::unreadable;
    co_return co_await respond_problem(
        exchange, damaged ? ProblemCode::record_unreadable : ProblemCode::store_unavailable);
  }
  // Somebody else's operation looks like one that does not exist (I8).
  const bool is_theirs =
      record && record->request->owner_tag == owner_tag(std::get<Identity>(identity), rules.secret);
  if (!is_theirs) co_return co_await respond_problem(exchange, ProblemCode::not_found);
  (void)co_await exchange.respond(200, json_lines,
                                  operation_json(*record, board_.find(record->operation_id)));
}

}  // namespace onceward
