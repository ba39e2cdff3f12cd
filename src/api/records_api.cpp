#include "api/records_api.hpp"

#include <map>

#include "api/record_json.hpp"
#include "api/response_json.hpp"
#include "api/result_json.hpp"
#include "base/await.hpp"
#include "base/base64.hpp"
#include "base/time_text.hpp"
#include "core/reserved.hpp"

namespace onceward {
namespace {

namespace json = boost::json;

constexpr std::size_t page_records = 1000;
constexpr std::size_t counted_max = 1'000'000;
constexpr std::size_t reason_bytes_max = 1000;

Error invalid(std::string why) { return {Errc::invalid, std::move(why)}; }

std::optional<std::string> value_of(const Query& query, std::string_view name) {
  const auto found = query.find(name);
  if (found == query.end()) return std::nullopt;
  return found->second;
}

Result<ListRequest> list_request(const Query& query, Timestamp now) {
  ListRequest request;
  if (const auto text = value_of(query, "state")) {
    request.state = state_from_string(*text);
    if (!request.state)
      return invalid("state: must be claimed, processing, succeeded, failed, released, unknown or expired");
  }
  request.operation = value_of(query, "operation");
  request.tenant = value_of(query, "tenant");
  request.reference = value_of(query, "reference");
  if (const auto text = value_of(query, "older_than")) {
    const auto age = duration_from_text(*text);
    if (!age) return invalid("older_than: must be a length of time, such as 30s, 10m, 24h or 7d");
    request.updated_before = now - *age;
  }
  const Result<std::size_t> limit = limit_of(query);
  if (!limit) return limit.error();
  request.limit = *limit;
  if (const auto text = value_of(query, "cursor")) {
    const auto cursor = from_base64url(*text);
    if (!cursor || cursor->empty()) return invalid("cursor: must come from an earlier answer");
    request.cursor = *cursor;
  }
  return request;
}

std::optional<bool> reveal_of(const Query& query) {
  const auto text = value_of(query, "reveal");
  if (!text || *text == "false") return false;
  if (*text == "true") return true;
  return std::nullopt;
}

std::string_view state_conflict(const Record& record, Epoch epoch) {
  if (record.epoch != epoch) return "The record is of another epoch. Nothing was changed.";
  if (is_final(record.state)) return "The record is final. Nothing was changed.";
  if (record.state == State::released) return "The record is already released. Nothing was changed.";
  return {};
}

}  // namespace

struct RecordsApi::Resolution {
  State as = State::succeeded;
  Epoch epoch = 0;
  std::string reason;
  std::shared_ptr<const Response> response;
  std::shared_ptr<const OperationResult> result;
};

Task<> RecordsApi::list(ApiCall& call) {
  const Result<Query> query =
      read_query(call.exchange.request().query(),
                 {"state", "operation", "tenant", "reference", "older_than", "limit", "cursor"});
  if (!query) co_return co_await refuse_input(call, query.error().message);
  Result<ListRequest> request = list_request(*query, clock_.now());
  if (!request) co_return co_await refuse_input(call, request.error().message);
  json::array records;
  const std::size_t wanted = request->limit;
  do {
    request->limit = wanted - records.size();
    const Result<ListReply> reply =
        co_await store_call<ListReply>(call.executor(), [&](auto& r) { return store_.list(*request, r); });
    if (!reply) co_return co_await refuse_error(call, reply.error());
    for (const Record& record : reply->records) {
      if (is_reserved_operation(record.request->operation)) continue;
      json::object shown = record_json(record, false);
      shown.erase("response");  // not every store reads answers for a list
      records.push_back(std::move(shown));
    }
    request->cursor = reply->cursor;
  } while (records.size() < wanted && !request->cursor.empty());
  json::object out;
  out["records"] = std::move(records);
  out["cursor"] = request->cursor.empty() ? json::value(nullptr) : json::value(to_base64url(request->cursor));
  co_await answer(call, 200, out);
}

Task<Result<Record>> RecordsApi::find(Executor& executor, std::string_view id_text) {
  const std::optional<OperationId> id = operation_id_from_string(id_text);
  if (!id) co_return Error{Errc::not_found, "There is no such record."};
  Result<Record> record =
      co_await store_call<Record>(executor, [&](auto& reply) { return store_.lookup(*id, reply); });
  if (record && is_reserved_operation(record->request->operation))
    co_return Error{Errc::not_found, "There is no such record."};
  co_return record;
}

Task<> RecordsApi::show(ApiCall& call) {
  const Result<Query> query = read_query(call.exchange.request().query(), {"reveal"});
  if (!query) co_return co_await refuse_input(call, query.error().message);
  const std::optional<bool> reveal = reveal_of(*query);
  if (!reveal) co_return co_await refuse_input(call, "reveal: must be true or false");
  if (*reveal && !has_role(call.principal.roles, Role::operate))
    co_return co_await refuse(
        call, {.code = ProblemCode::forbidden, .detail = "Only the role operate may see what was answered."});
  const Result<Record> record = co_await find(call.executor(), call.id);
  if (!record) co_return co_await refuse_error(call, record.error());
  co_await answer(call, 200, record_json(*record, *reveal));
}

Task<> RecordsApi::resolve(ApiCall& call) {
  JsonBody body(call.body);
  Resolution wanted;
  if (auto object = body.object()) {
    const auto state = state_from_string(object->needed_text("as", 16));
    if (state != State::succeeded && state != State::failed && state != State::released)
      object->fail("as", "must be succeeded, failed or released");
    wanted.as = state.value_or(State::succeeded);
    const auto epoch = object->number("epoch", 1, std::int64_t{1} << 53);
    if (!epoch) object->fail("epoch", "is missing");
    wanted.epoch = static_cast<Epoch>(epoch.value_or(0));
    wanted.reason = object->needed_text("reason", reason_bytes_max);
    wanted.response = read_response(*object, call.rules->max_response);
    if (wanted.response && wanted.as == State::released)
      object->fail("response", "a released record has none");
    wanted.result = read_result(*object);
    if (wanted.result && wanted.as == State::released) object->fail("result", "a released record has none");
    object->refuse_unknown();
  }
  if (!body.ok()) co_return co_await refuse_input(call, body.error());
  const Result<Record> standing = co_await find(call.executor(), call.id);
  if (!standing) co_return co_await refuse_error(call, standing.error());
  const std::string_view conflict = state_conflict(*standing, wanted.epoch);
  const bool taken = conflict.empty() && !being_resolved_.insert(standing->operation_id).second;
  if (!conflict.empty() || taken) {
    const std::string_view why = taken ? "Another operator is resolving this record right now." : conflict;
    co_return co_await refuse(call, {.code = ProblemCode::conflict, .detail = why, .operation_id = call.id});
  }
  co_await resolve_one(call, wanted, *standing);
  being_resolved_.erase(standing->operation_id);
}

Task<> RecordsApi::resolve_one(ApiCall& call, const Resolution& wanted, const Record& standing) {
  json::object entry;
  entry["actor"] = call.principal.name;
  entry["action"] = "resolve";
  entry["operation_id"] = to_string(standing.operation_id);
  entry["epoch"] = standing.epoch;
  entry["from"] = to_string(standing.state);
  entry["as"] = to_string(wanted.as);
  entry["reason"] = wanted.reason;
  Result<Record> open = co_await audit_.begin(call.executor(), std::move(entry), call.rules->audit_ttl);
  if (!open) co_return co_await refuse_error(call, open.error());

  ResolveRequest request;
  request.scope = standing.scope;
  request.operation_id = standing.operation_id;
  request.epoch = wanted.epoch;
  request.as = wanted.as;
  request.response = wanted.response;
  request.result = wanted.result;
  // An operator's word is as good as the upstream's: whoever listens hears of it too.
  const Policy& policy = *call.rules->operation(standing.request->operation).policy;
  request.events = events_.of(standing, policy, wanted.as, wanted.response.get(), wanted.result.get());
  const Result<Record> resolved = co_await resolve_once(call.executor(), request);
  if (resolved) {
    events_.written(request.scope, request.events);
    co_await audit_.end(call.executor(), std::move(*open), "applied", {});
    co_return co_await answer(call, 200, record_json(*resolved, false));
  }
  // An entry about a change that may have been made stays open: it says so by itself.
  const Error& error = resolved.error();
  if (error.code != Errc::unavailable) co_await audit_.end(call.executor(), std::move(*open), "refused", {});
  if (error.code == Errc::stale || error.code == Errc::conflict) {
    const std::string_view why = error.code == Errc::stale
                                     ? "The record is of another epoch. Nothing was changed."
                                     : "The record is final or released. Nothing was changed.";
    co_return co_await refuse(call, {.code = ProblemCode::conflict, .detail = why, .operation_id = call.id});
  }
  co_await refuse_error(call, error);
}

Task<Result<Record>> RecordsApi::resolve_once(Executor& executor, const ResolveRequest& request) {
  Result<Record> resolved =
      co_await store_call<Record>(executor, [&](auto& reply) { return store_.resolve(request, reply); });
  if (resolved || resolved.error().code != Errc::unavailable) co_return resolved;
  // I10: it may have been written all the same. A resolved record has no owner.
  Result<Record> found =
      co_await store_call<Record>(executor, [&](auto& reply) { return store_.lookup(request.scope, reply); });
  const bool applied = found && found->epoch == request.epoch && found->state == request.as &&
                       found->owner.is_zero() && found->operation_id == request.operation_id;
  if (applied) co_return found;
  co_return resolved;
}

Task<> RecordsApi::stats(ApiCall& call) {
  const Result<Query> query = read_query(call.exchange.request().query(), {});
  if (!query) co_return co_await refuse_input(call, query.error().message);
  std::map<std::pair<std::string, State>, std::uint64_t> counts;
  std::size_t seen = 0;
  ListRequest page;
  page.limit = page_records;
  do {
    const Result<ListReply> reply =
        co_await store_call<ListReply>(call.executor(), [&](auto& r) { return store_.list(page, r); });
    if (!reply) co_return co_await refuse_error(call, reply.error());
    for (const Record& record : reply->records) {
      if (!is_reserved_operation(record.request->operation))
        ++counts[{record.request->operation, record.state}];
    }
    seen += reply->records.size();
    page.cursor = reply->cursor;
    if (!page.cursor.empty()) co_await SleepUntil(call.executor(), clock_.mono());  // others have a turn
  } while (!page.cursor.empty() && seen < counted_max);
  const Result<StoreStats> stats =
      co_await store_call<StoreStats>(call.executor(), [&](auto& r) { return store_.stats(r); });
  if (!stats) co_return co_await refuse_error(call, stats.error());

  json::array by_operation;
  std::map<State, std::uint64_t> by_state;
  std::uint64_t records = 0;
  for (const auto& [key, count] : counts) {
    by_operation.push_back(
        json::object{{"operation", key.first}, {"state", to_string(key.second)}, {"count", count}});
    by_state[key.second] += count;
    records += count;
  }
  json::object states;
  for (const auto& [state, count] : by_state) states[to_string(state)] = count;
  json::object out;
  out["records"] = records;
  out["complete"] = page.cursor.empty();
  out["states"] = std::move(states);
  out["operations"] = std::move(by_operation);
  out["stored_bytes"] = stats->bytes;
  out["purge_lag_ms"] = stats->purge_lag.count();
  co_await answer(call, 200, out);
}

Task<> RecordsApi::audit(ApiCall& call) {
  const Result<Query> query =
      read_query(call.exchange.request().query(), {"limit", "cursor", "operation_id"});
  if (!query) co_return co_await refuse_input(call, query.error().message);
  AuditQuery wanted;
  const Result<std::size_t> limit = limit_of(*query);
  if (!limit) co_return co_await refuse_input(call, limit.error().message);
  wanted.limit = *limit;
  wanted.about = value_of(*query, "operation_id");
  if (const auto cursor = value_of(*query, "cursor")) {
    wanted.before = operation_id_from_string(*cursor);
    if (!wanted.before) co_return co_await refuse_input(call, "cursor: must come from an earlier answer");
  }
  Result<AuditPage> page = co_await audit_.list(call.executor(), std::move(wanted));
  if (!page) co_return co_await refuse_error(call, page.error());
  json::object out;
  out["entries"] = std::move(page->entries);
  out["cursor"] = page->next ? json::value(to_string(*page->next)) : json::value(nullptr);
  co_await answer(call, 200, out);
}

}  // namespace onceward
