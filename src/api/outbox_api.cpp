#include "api/outbox_api.hpp"

#include <boost/json/array.hpp>

#include "api/json_body.hpp"
#include "base/await.hpp"
#include "base/base64.hpp"
#include "base/time_text.hpp"

namespace onceward {
namespace {

namespace json = boost::json;

constexpr std::size_t reason_bytes_max = 1000;
constexpr std::size_t ids_max = 1000;

json::object event_json(const PendingEvent& event) {
  json::object out;
  out["id"] = event.event.id;
  out["type"] = event.event.type;
  out["state"] = event.set_aside ? "set_aside" : "pending";
  out["created_at"] = time_text(event.created_at);
  if (!event.set_aside) out["due_at"] = time_text(event.due_at);
  out["attempts"] = event.attempts;
  if (!event.last_error.empty()) out["last_error"] = event.last_error;
  out["payload_bytes"] = event.event.payload.size();
  return out;
}

Task<> refuse_none(ApiCall& call) {
  co_await refuse(call, {.code = ProblemCode::not_found, .detail = "This store keeps no events."});
}

Result<ListEventsRequest> list_request(const Query& query) {
  ListEventsRequest request;
  const Result<std::size_t> limit = limit_of(query);
  if (!limit) return limit.error();
  request.limit = *limit;
  if (const auto found = query.find("state"); found != query.end()) {
    if (found->second != "set_aside") return Error{Errc::invalid, "state: must be set_aside"};
    request.set_aside_only = true;
  }
  if (const auto found = query.find("cursor"); found != query.end()) {
    const auto cursor = from_base64url(found->second);
    if (!cursor || cursor->empty()) return Error{Errc::invalid, "cursor: must come from an earlier answer"};
    request.cursor = *cursor;
  }
  return request;
}

}  // namespace

Task<> OutboxApi::status(ApiCall& call) {
  const Result<Query> query = read_query(call.exchange.request().query(), {});
  if (!query) co_return co_await refuse_input(call, query.error().message);
  if (!store_.outbox()) co_return co_await refuse_none(call);
  const Result<OutboxStats> stats = co_await store_call<OutboxStats>(
      call.executor(), [&](auto& reply) { return store_.outbox()->outbox_stats(reply); });
  if (!stats) co_return co_await refuse_error(call, stats.error());
  json::object out;
  out["pending"] = stats->pending;
  out["set_aside"] = stats->set_aside;
  out["oldest_pending"] =
      stats->pending == 0 ? json::value(nullptr) : json::value(time_text(stats->oldest_pending));
  co_await answer(call, 200, out);
}

Task<> OutboxApi::list(ApiCall& call) {
  const Result<Query> query = read_query(call.exchange.request().query(), {"state", "limit", "cursor"});
  if (!query) co_return co_await refuse_input(call, query.error().message);
  const Result<ListEventsRequest> request = list_request(*query);
  if (!request) co_return co_await refuse_input(call, request.error().message);
  if (!store_.outbox()) co_return co_await refuse_none(call);
  const Result<ListEventsReply> page = co_await store_call<ListEventsReply>(
      call.executor(), [&](auto& reply) { return store_.outbox()->list_events(*request, reply); });
  if (!page) co_return co_await refuse_error(call, page.error());
  json::array events;
  for (const PendingEvent& event : page->events) events.push_back(event_json(event));
  json::object out;
  out["events"] = std::move(events);
  out["cursor"] = page->cursor.empty() ? json::value(nullptr) : json::value(to_base64url(page->cursor));
  co_await answer(call, 200, out);
}

Task<> OutboxApi::retry(ApiCall& call) {
  JsonBody body(call.body);
  RetryEventsRequest request;
  std::string reason;
  if (auto object = body.object()) {
    request.ids = object->texts("ids", ids_max);
    const bool all = object->flag("all").value_or(false);
    if (all == !request.ids.empty()) object->fail("ids", "give some ids, or all: true");
    reason = object->text("reason", reason_bytes_max).value_or("");
    object->refuse_unknown();
  }
  if (!body.ok()) co_return co_await refuse_input(call, body.error());
  if (!store_.outbox()) co_return co_await refuse_none(call);

  json::object entry{{"actor", call.principal.name}, {"action", "outbox_retry"}};
  if (!request.ids.empty()) entry["events"] = json::array(request.ids.begin(), request.ids.end());
  if (!reason.empty()) entry["reason"] = reason;
  Result<Record> open = co_await audit_.begin(call.executor(), std::move(entry), call.rules->audit_ttl);
  if (!open) co_return co_await refuse_error(call, open.error());
  const Result<std::size_t> retried = co_await store_call<std::size_t>(
      call.executor(), [&](auto& reply) { return store_.outbox()->retry_events(request, reply); });
  if (!retried) {
    // An entry about a change that may have been made stays open: it says so by itself.
    if (retried.error().code != Errc::unavailable)
      co_await audit_.end(call.executor(), std::move(*open), "failed", {});
    co_return co_await refuse_error(call, retried.error());
  }
  events_.wake_all();
  co_await audit_.end(call.executor(), std::move(*open), "applied", {{"retried", *retried}});
  co_await answer(call, 200, {{"retried", *retried}});
}

}  // namespace onceward
