#include "ops/admin_api.hpp"

#include <map>

#include "base/await.hpp"
#include "base/json_text.hpp"
#include "core/reserved.hpp"
#include "ops/problem.hpp"

namespace onceward {
namespace {

// Counting records reads them all, so a scrape does it rarely and never without end.
constexpr Duration count_interval{15'000};
constexpr std::size_t counted_max = 1'000'000;
constexpr std::size_t page_records = 1'000;

constexpr std::string_view text_lines =
    "Content-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n";
constexpr std::string_view json_lines = "Content-Type: application/json\r\nCache-Control: no-store\r\n";
constexpr std::string_view prometheus_lines =
    "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\nCache-Control: no-store\r\n";

Task<> respond_problem(http::Exchange& exchange, ProblemCode code) {
  const Problem problem{.code = code};
  (void)co_await exchange.respond(problem_status(problem), problem_headers(problem), problem_json(problem));
}

void append_member(std::string& out, std::string_view name, std::string_view value) {
  append_json_string(out, name);
  out += ':';
  append_json_string(out, value);
}

}  // namespace

AdminApi::AdminApi(Store& store, const Clock& clock, Metrics& metrics, std::function<Readiness()> readiness)
    : store_(store),
      clock_(clock),
      metrics_(metrics),
      readiness_(std::move(readiness)),
      lost_owners_(clock.now()) {}

http::PlainAnswer AdminApi::protocol_error(int status, std::string_view detail) {
  const Problem problem{.code = ProblemCode::bad_request, .status = status, .detail = detail};
  return {problem_headers(problem), problem_json(problem)};
}

Task<> AdminApi::handle(http::Exchange& exchange) {
  const http::RequestHead& request = exchange.request();
  if (request.method != "GET" && request.method != "HEAD") {
    co_return co_await respond_problem(exchange, ProblemCode::method_not_allowed);
  }
  if (request.path() == "/healthz") {
    (void)co_await exchange.respond(200, text_lines, "ok\n");
  } else if (request.path() == "/readyz") {
    co_await ready(exchange);
  } else if (request.path() == "/metrics") {
    co_await metrics(exchange);
  } else {
    co_await respond_problem(exchange, ProblemCode::not_found);
  }
}

Task<> AdminApi::ready(http::Exchange& exchange) {
  Readiness state = readiness_();
  const Result<StoreStats> stats =
      co_await store_call<StoreStats>(exchange.executor(), [&](auto& reply) { return store_.stats(reply); });
  if (!stats) {
    state.ready = false;
    state.message = stats.error().message;
  }
  std::string body = state.ready ? "{\"ready\":true," : "{\"ready\":false,";
  append_member(body, "store", state.store);
  body += ',';
  append_member(body, "durability", state.durability);
  if (!state.message.empty()) {
    body += ',';
    append_member(body, "message", state.message);
  }
  body += "}\n";
  (void)co_await exchange.respond(state.ready ? 200 : 503, json_lines, body);
}

Task<> AdminApi::metrics(http::Exchange& exchange) {
  if (counted_at_ == MonoTime{} || clock_.mono() >= counted_at_ + count_interval) {
    co_await count_records(exchange.executor());
  }
  (void)co_await exchange.respond(200, prometheus_lines, metrics_.render(gauges_));
}

Task<Result<Done>> AdminApi::look_at(Executor& executor, ListRequest page,
                                     std::function<void(const Record&)> each) {
  page.limit = page_records;
  for (std::size_t seen = 0; seen < counted_max;) {
    const Result<ListReply> reply =
        co_await store_call<ListReply>(executor, [&](auto& r) { return store_.list(page, r); });
    if (!reply) co_return reply.error();
    for (const Record& record : reply->records) {
      if (is_reserved_operation(record.request->operation)) continue;
      each(record);
      if (lost_owners_.is_new(record))
        metrics_.shard(0).unknown(metrics_.known_operation(record.request->operation),
                                  UnknownCause::owner_lost);
    }
    seen += reply->records.size();
    page.cursor = reply->cursor;
    if (page.cursor.empty()) break;
  }
  lost_owners_.pass_ended();
  co_return Done{};
}

Task<Result<Done>> AdminApi::count_by_store(Executor& executor, RecordCounts& counts) {
  const Result<std::vector<StateCount>> counted = co_await store_call<std::vector<StateCount>>(
      executor, [&](auto& reply) { return counts.count_records(reply); });
  if (!counted) co_return counted.error();
  const Result<Done> looked = co_await look_at(executor, {.state = State::unknown}, [](const Record&) {});
  if (!looked) co_return looked;
  gauges_.records.clear();
  for (const StateCount& one : *counted) {
    if (!is_reserved_operation(one.operation))
      gauges_.records.push_back({one.operation, one.state, one.count});
  }
  co_return Done{};
}

Task<Result<Done>> AdminApi::count_by_listing(Executor& executor) {
  std::map<std::pair<std::string, State>, std::uint64_t> counts;
  const Result<Done> looked = co_await look_at(
      executor, {}, [&](const Record& record) { ++counts[{record.request->operation, record.state}]; });
  if (!looked) co_return looked;
  gauges_.records.clear();
  for (const auto& [key, count] : counts) gauges_.records.push_back({key.first, key.second, count});
  co_return Done{};
}

Task<> AdminApi::count_records(Executor& executor) {
  auto* const counts = dynamic_cast<RecordCounts*>(&store_);
  const Result<Done> counted =
      counts ? co_await count_by_store(executor, *counts) : co_await count_by_listing(executor);
  if (!counted) co_return;  // readiness tells; what was counted last stays
  const Result<StoreStats> stats =
      co_await store_call<StoreStats>(executor, [&](auto& reply) { return store_.stats(reply); });
  if (stats) gauges_.purge_lag = stats->purge_lag;
  if (store_.outbox()) co_await count_events(executor);
  counted_at_ = clock_.mono();
}

Task<> AdminApi::count_events(Executor& executor) {
  const Result<OutboxStats> events = co_await store_call<OutboxStats>(
      executor, [&](auto& reply) { return store_.outbox()->outbox_stats(reply); });
  if (!events) co_return;
  gauges_.outbox_pending = events->pending;
  gauges_.outbox_set_aside = events->set_aside;
  gauges_.outbox_oldest = events->pending == 0 ? Duration{} : clock_.now() - events->oldest_pending;
}

}  // namespace onceward
