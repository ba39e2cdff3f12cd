// onceward verify URL: a black-box check of any server that claims Idempotency-Key support.
#include <cstdio>
#include <memory>

#include "base/json_text.hpp"
#include "cli/commands.hpp"
#include "cli/request_arguments.hpp"
#include "cli/verify_checks.hpp"

namespace onceward::cli {
namespace {

struct VerifyArguments {
  RequestArguments request;
  std::optional<std::string> other;
  std::string timeout = "30s";
  TrustArguments trust;
  bool json = false;
};

int fail(const Error& error) {
  std::fprintf(stderr, "onceward verify: %s\n", error.message.c_str());
  return error.code == Errc::invalid ? exit_usage : exit_failed;
}

void print_json(const CheckResult& result) {
  std::string line = "{\"check\":";
  append_json_string(line, result.name);
  line.append(",\"level\":\"").append(to_string(result.level));
  line.append("\",\"result\":\"").append(to_string(result.finding)).append("\",\"detail\":");
  append_json_string(line, result.detail);
  std::puts((line + "}").c_str());
}

void print_text(const CheckResult& result) {
  const char* mark = result.finding == Finding::passed   ? "ok  "
                     : result.finding == Finding::failed ? "FAIL"
                                                         : "?   ";
  if (result.level != Level::must && result.finding == Finding::failed) mark = "no  ";
  std::printf("%s  %-6s  %s%s%s\n", mark, std::string(to_string(result.level)).c_str(), result.name.c_str(),
              result.detail.empty() ? "" : ": ", result.detail.c_str());
}

std::string content_type(const client::Request& request) {
  return std::string(client::Answer{.headers = request.headers}.header("Content-Type"));
}

int run_verify(const VerifyArguments& a) {
  Result<client::Request> request = make_request(a.request);
  if (!request) return fail(request.error());
  if (a.request.method.empty()) request->method = "POST";  // a GET has nothing to verify
  const Result<Duration> timeout = parse_duration("--timeout", a.timeout);
  if (!timeout) return fail(timeout.error());
  const Result<client::WireRequest> checked = client::make_wire_request(*request, "k", {});
  if (!checked) return fail(checked.error());
  http::UpstreamOptions options{.url = checked->origin, .timeout = *timeout};
  options.tls.ca_file = a.trust.ca_file;
  options.tls.verify = !a.trust.insecure;
  Result<std::unique_ptr<RawSender>> sender = RawSender::make(options);
  if (!sender) return fail(sender.error());
  VerifyPlan plan{.request = *request, .other_body = {}};
  plan.other_body = a.other ? *a.other : changed_body(request->body, content_type(*request));
  std::vector<CheckResult> results;
  run_checks(**sender, plan, [&](const CheckResult& result) {
    results.push_back(result);
    a.json ? print_json(result) : print_text(result);
    std::fflush(stdout);
  });
  const bool good = conforms(results);
  if (a.json) {
    std::printf("{\"conforms\":%s,\"checks\":%zu}\n", good ? "true" : "false", results.size());
  } else {
    std::puts(good ? "\nIt does all that it must."
                   : "\nIt does not do all that it must, or does not show it.");
  }
  return good ? exit_done : exit_failed;
}

}  // namespace

Command verify_command() {
  auto a = std::make_shared<VerifyArguments>();
  std::vector<Option> options = request_options(a->request);
  const std::vector<Option> own = {
      {.names = "--other",
       .help =
           "Another body, to be refused under the first one's key; without it the first with one more member",
       .target = &a->other,
       .value_name = "BODY"},
      {.names = "--timeout", .help = "For one answer (30s)", .target = &a->timeout, .value_name = "TIME"},
      {.names = "--json", .help = "One JSON object per line", .target = &a->json}};
  for (const std::vector<Option>& more : {own, trust_options(a->trust)})
    options.insert(options.end(), more.begin(), more.end());
  return {.name = "verify",
          .summary = "Check a server's support of Idempotency-Key from outside",
          .details =
              "Sends the request about 25 times under several keys, so it really happens a few times: use a "
              "test\n"
              "system. The answer must show which execution it is from (an id will do). Exit code 1 when "
              "something\n"
              "that must be is not, or cannot be seen.\n\n"
              "Example:\n"
              "  onceward verify -d '{\"customerId\":\"ada\",\"amount\":1}' http://127.0.0.1:8080/api/orders",
          .options = std::move(options),
          .run = [a] { return run_verify(*a); }};
}

}  // namespace onceward::cli
