#include "ops/admin_api.hpp"

#include <map>

#include "base/await.hpp"
#include "core/reserved.hpp"
#include "ops/json_text.hpp"
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

Task<> AdminApi::count_records(Executor& executor) {
  std::map<std::pair<std::string, State>, std::uint64_t> counts;
  ListRequest page;
  page.limit = page_records;
  for (std::size_t seen = 0; seen < counted_max;) {
    const Result<ListReply> reply =
        co_await store_call<ListReply>(executor, [&](auto& r) { return store_.list(page, r); });
    if (!reply) co_return;  // readiness tells; what was counted last stays
    for (const Record& record : reply->records) {
      if (!is_reserved_operation(record.request->operation))
        ++counts[{record.request->operation, record.state}];
      if (lost_owners_.is_new(record))
        metrics_.shard(0).unknown(metrics_.known_operation(record.request->operation),
                                  UnknownCause::owner_lost);
    }
    seen += reply->records.size();
    page.cursor = reply->cursor;
    if (page.cursor.empty()) break;
  }
  lost_owners_.pass_ended();
  gauges_.records.clear();
  for (const auto& [key, count] : counts) gauges_.records.push_back({key.first, key.second, count});
  const Result<StoreStats> stats =
      co_await store_call<StoreStats>(executor, [&](auto& reply) { return store_.stats(reply); });
  if (stats) gauges_.purge_lag = stats->purge_lag;
  counted_at_ = clock_.mono();
}

}  // namespace onceward
