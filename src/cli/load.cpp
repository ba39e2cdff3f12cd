#include "cli/load.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>

#include "base/assert.hpp"
#include "base/sha256.hpp"
#include "client/attempt.hpp"
#include "core/json_value.hpp"
#include "net/wait_list.hpp"

namespace onceward::cli {
namespace {

using client::Attempt;
using client::WireRequest;
using net::Worker;

constexpr std::size_t body_bytes_max = std::size_t{1} << 20;

std::string numbered(std::string body, std::size_t number) {
  constexpr std::string_view mark = "{n}";
  const std::string text = std::to_string(number);
  for (std::size_t at = body.find(mark); at != std::string::npos; at = body.find(mark, at + text.size()))
    body.replace(at, mark.size(), text);
  return body;
}

// State of one run, shared by its connections, which all live on one worker.
struct Run {
  Run(http::Upstream& to, LoadPlan what, Executor& executor)
      : upstream(to), plan(std::move(what)), random(plan.seed), done(executor) {}

  http::Upstream& upstream;
  LoadPlan plan;
  std::mt19937_64 random;
  std::string key_prefix = client::NewKey::random().text();
  MonoTime end{};
  std::size_t sent = 0;
  std::vector<std::optional<Sha256Bytes>> intents;  // the first body seen under each key
  std::size_t running = 0;
  LoadReport report;
  net::WaitList done;

  // Which intent the next request is for: an earlier one, or a new one.
  std::size_t choose() {
    const bool again = !intents.empty() && std::uniform_real_distribution<>(0, 1)(random) < plan.duplicates;
    if (!again) {
      intents.emplace_back();
      return intents.size() - 1;
    }
    ++report.duplicates;
    return std::uniform_int_distribution<std::size_t>(0, intents.size() - 1)(random);
  }

  WireRequest request(std::size_t intent) const {
    client::Request one = plan.request;
    one.body = numbered(one.body, intent);
    Result<WireRequest> wire = client::make_wire_request(one, key_prefix + "-" + std::to_string(intent), {});
    ONCEWARD_ASSERT(wire.has_value());  // the plan's request was checked before
    return std::move(*wire);
  }

  void note(std::size_t intent, const Attempt& attempt, MonoTime began) {
    const bool answered = attempt.kind == Attempt::Kind::answered;
    const Seen seen = answered ? seen_of(attempt.answer) : Seen::lost;
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(Worker::now() - began).count();
    report.micros[static_cast<std::size_t>(seen)].push_back(static_cast<std::uint32_t>(
        std::min<std::int64_t>(micros, std::numeric_limits<std::uint32_t>::max())));
    if (seen != Seen::first && seen != Seen::replay) return;
    const Sha256Bytes body = sha256(attempt.answer.body);
    if (!intents[intent]) intents[intent] = body;
    if (*intents[intent] != body) ++report.contradictions;
  }
};

Task<> connection(Run& run) {
  while (run.sent < run.plan.requests && Worker::now() < run.end) {
    ++run.sent;
    const std::size_t intent = run.choose();
    const WireRequest request = run.request(intent);
    const MonoTime began = Worker::now();
    http::Lease lease;
    const Attempt attempt = co_await client::make_attempt(run.upstream, request, body_bytes_max, lease,
                                                          began + run.upstream.options().timeout);
    run.note(intent, attempt, began);
  }
  if (--run.running == 0) run.done.wake_all();
}

struct Row {
  std::string_view name;
  std::size_t count = 0;
  std::uint32_t p50 = 0, p90 = 0, p99 = 0, max = 0;
};

Row row_of(std::string_view name, std::vector<std::uint32_t>& micros) {
  std::ranges::sort(micros);
  return {name,
          micros.size(),
          percentile(micros, 50),
          percentile(micros, 90),
          percentile(micros, 99),
          micros.empty() ? 0 : micros.back()};
}

std::vector<Row> rows_of(LoadReport& report) {
  std::vector<Row> rows;
  std::vector<std::uint32_t> all;
  for (std::size_t i = 0; i < seen_kinds; ++i) {
    all.insert(all.end(), report.micros[i].begin(), report.micros[i].end());
    if (!report.micros[i].empty()) rows.push_back(row_of(to_string(static_cast<Seen>(i)), report.micros[i]));
  }
  rows.push_back(row_of("all", all));
  return rows;
}

double per_second(const LoadReport& report) {
  const double seconds = static_cast<double>(std::max<std::int64_t>(report.took.count(), 1)) / 1000;
  return static_cast<double>(report.total()) / seconds;
}

}  // namespace

std::string_view to_string(Seen seen) {
  constexpr std::string_view names[] = {"first",   "replay",  "in_progress", "mismatch",
                                        "unknown", "refused", "unavailable", "lost"};
  return names[static_cast<std::size_t>(seen)];
}

Seen seen_of(const client::Answer& answer) {
  if (answer.status < 400) return answer.header("Idempotent-Replayed") == "true" ? Seen::replay : Seen::first;
  const Result<std::string> code = json_value_at(answer.body, "/code");
  if (code && *code == "IDEMPOTENCY_REQUEST_IN_PROGRESS") return Seen::in_progress;
  if (code && *code == "IDEMPOTENCY_OUTCOME_UNKNOWN") return Seen::unknown;
  if (code && *code == "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST") return Seen::mismatch;
  return answer.status >= 500 ? Seen::unavailable : Seen::refused;
}

std::size_t LoadReport::total() const {
  return std::accumulate(micros.begin(), micros.end(), std::size_t{0},
                         [](std::size_t sum, const auto& one) { return sum + one.size(); });
}

Task<LoadReport> drive_load(http::Upstream& upstream, LoadPlan plan, Executor& executor) {
  Run run(upstream, std::move(plan), executor);
  const MonoTime began = Worker::now();
  run.end = run.plan.time == Duration::max() ? MonoTime::max() : began + run.plan.time;
  run.running = std::min(run.plan.connections, run.plan.requests);
  for (std::size_t i = run.running; i > 0; --i) spawn(connection(run));
  if (run.running != 0) (void)co_await run.done.wait(MonoTime::max());
  run.report.took = std::chrono::duration_cast<Duration>(Worker::now() - began);
  co_return std::move(run.report);
}

std::uint32_t percentile(const std::vector<std::uint32_t>& sorted, double p) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<std::size_t>(p / 100 * static_cast<double>(sorted.size()));
  return sorted[std::min(rank, sorted.size() - 1)];
}

std::string load_text(LoadReport report) {
  char line[160];
  std::snprintf(line, sizeof line, "%zu requests in %.2f s, %.0f per second; %zu repeated an earlier one\n\n",
                report.total(), static_cast<double>(report.took.count()) / 1000, per_second(report),
                report.duplicates);
  std::string text = line;
  std::snprintf(line, sizeof line, "%-12s %9s %9s %9s %9s %9s   (microseconds)\n", "", "count", "p50", "p90",
                "p99", "max");
  text += line;
  for (const Row& row : rows_of(report)) {
    std::snprintf(line, sizeof line, "%-12s %9zu %9u %9u %9u %9u\n", std::string(row.name).c_str(), row.count,
                  row.p50, row.p90, row.p99, row.max);
    text += line;
  }
  return text +
         "\nanswers that contradict the first one under their key: " + std::to_string(report.contradictions) +
         "\n";
}

std::string load_json(LoadReport report) {
  std::string text = "{\"requests\":" + std::to_string(report.total()) +
                     ",\"duplicates\":" + std::to_string(report.duplicates) +
                     ",\"contradictions\":" + std::to_string(report.contradictions) +
                     ",\"milliseconds\":" + std::to_string(report.took.count()) +
                     ",\"per_second\":" + std::to_string(static_cast<std::uint64_t>(per_second(report))) +
                     ",\"outcomes\":{";
  bool comma = false;
  for (const Row& row : rows_of(report)) {
    text.append(comma ? ",\"" : "\"")
        .append(row.name)
        .append("\":{\"count\":")
        .append(std::to_string(row.count));
    text += ",\"p50_us\":" + std::to_string(row.p50) + ",\"p90_us\":" + std::to_string(row.p90) +
            ",\"p99_us\":" + std::to_string(row.p99) + ",\"max_us\":" + std::to_string(row.max) + "}";
    comma = true;
  }
  return text + "}}";
}

}  // namespace onceward::cli
