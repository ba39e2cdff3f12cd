// onceward bench: load with a chosen share of duplicates; latency and outcome report.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>

#include "cli/commands.hpp"
#include "cli/demo_stage.hpp"
#include "cli/load.hpp"
#include "cli/raw_sender.hpp"
#include "cli/request_arguments.hpp"

namespace onceward::cli {
namespace {

struct BenchArguments {
  RequestArguments request;
  std::size_t requests = 10'000;
  std::size_t connections = 16;
  std::string duplicates = "0.2";
  std::string time;
  std::string store = "memory";
  bool json = false;
};

constexpr std::size_t connections_max = 4096;

int fail(const Error& error) {
  std::fprintf(stderr, "onceward bench: %s\n", error.message.c_str());
  return error.code == Errc::invalid ? exit_usage : exit_failed;
}

Result<double> parse_share(const std::string& text) {
  char* end = nullptr;
  const double share = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(share >= 0 && share < 1))
    return Error{Errc::invalid, "--duplicates: give a share from 0 to less than 1"};
  return share;
}

Result<LoadPlan> make_plan(const BenchArguments& a, const std::string& url) {
  RequestArguments arguments = a.request;
  arguments.url = url;
  if (!arguments.data) arguments.data = R"({"customerId":"bench-{n}","amount":1})";
  Result<client::Request> request = make_request(arguments);
  if (!request) return request.error();
  const Result<double> share = parse_share(a.duplicates);
  if (!share) return share.error();
  LoadPlan plan{.request = std::move(*request),
                .requests = a.requests,
                .connections = a.connections,
                .duplicates = *share};
  if (a.requests == 0 || a.connections == 0 || a.connections > connections_max)
    return Error{Errc::invalid, "--requests and --connections must be at least 1, connections at most 4096"};
  if (!a.time.empty()) {
    const Result<Duration> time = parse_duration("--time", a.time);
    if (!time) return time.error();
    plan.time = *time;
  }
  return plan;
}

int run_load(const BenchArguments& a, const std::string& url) {
  Result<LoadPlan> plan = make_plan(a, url);
  if (!plan) return fail(plan.error());
  const Result<client::WireRequest> checked = client::make_wire_request(plan->request, "k", {});
  if (!checked) return fail(checked.error());
  Result<std::unique_ptr<RawSender>> sender =
      RawSender::make({.url = checked->origin, .max_connections = plan->connections});
  if (!sender) return fail(sender.error());
  std::promise<LoadReport> told;
  (*sender)->worker().call([&] {
    spawn([](RawSender& by, LoadPlan what, std::promise<LoadReport>& to) -> Task<> {
      to.set_value(co_await drive_load(by.upstream(), std::move(what), by.worker()));
    }(**sender, std::move(*plan), told));
  });
  const LoadReport report = told.get_future().get();
  std::puts((a.json ? load_json(report) : load_text(report)).c_str());
  const bool heard = report.micros[static_cast<std::size_t>(Seen::lost)].size() < report.total();
  return report.contradictions == 0 && heard ? exit_done : exit_failed;
}

int run_bench(const BenchArguments& a) {
  ::signal(SIGPIPE, SIG_IGN);
  if (!a.request.url.empty()) return run_load(a, a.request.url);
  const Result<std::unique_ptr<DemoStage>> stage = DemoStage::start({.store = a.store});
  if (!stage) return fail(stage.error());
  return run_load(a, (*stage)->proxy_url() + "/api/orders");
}

}  // namespace

Command bench_command() {
  auto a = std::make_shared<BenchArguments>();
  std::vector<Option> options = request_options(a->request);
  options.front().required = false;
  options.front().help = "What to load; without it, a demo service behind a proxy in this process";
  const std::vector<Option> own = {
      {.names = "--requests,-n", .help = "How many (10000)", .target = &a->requests, .value_name = "N"},
      {.names = "--connections,-c",
       .help = "How many at once (16)",
       .target = &a->connections,
       .value_name = "N"},
      {.names = "--duplicates",
       .help = "The share of requests that repeat an earlier one (0.2)",
       .target = &a->duplicates,
       .value_name = "SHARE"},
      {.names = "--time",
       .help = "End after this time, whatever is left",
       .target = &a->time,
       .value_name = "TIME"},
      {.names = "--store",
       .help = "Without a URL: where the proxy keeps its records (memory)",
       .target = &a->store,
       .value_name = "URL"},
      {.names = "--json", .help = "Print one JSON object", .target = &a->json}};
  options.insert(options.end(), own.begin(), own.end());
  return {.name = "bench",
          .summary = "Load a server with requests and duplicates, and report",
          .details =
              "Each request has a key of its own or, for the share of duplicates, repeats an earlier one "
              "with its\n"
              "body; {n} in the body is the number of the intent. One thread sends, so the figures are the "
              "server's\n"
              "only as long as that thread has time to spare. Exit code 1 when an answer contradicts the "
              "first one\n"
              "under its key, or nothing was answered at all.\n\n"
              "Examples:\n"
              "  onceward bench --store file:./bench-data\n"
              "  onceward bench -n 50000 -c 64 --duplicates 0.5 -d '{\"order\":\"{n}\"}' "
              "http://127.0.0.1:8080/orders",
          .options = std::move(options),
          .run = [a] { return run_bench(*a); }};
}

}  // namespace onceward::cli
