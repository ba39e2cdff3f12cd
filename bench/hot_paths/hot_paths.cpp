// Counts what the three hot paths cost in instructions: the real worker, server, proxy, engine and memory
// store in one thread, with the kernel's side of the sockets scripted. Under callgrind only the measured
// requests are counted (bench/hot_paths/check compares them with the recorded baseline); without it the
// program checks that each path does what its name says. With many first requests it also says what a record
// takes in memory:
//
//   hot_paths pass-through|first|replay [requests]
#include <unistd.h>
#include <valgrind/callgrind.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "base/assert.hpp"
#include "base/system.hpp"
#include "engine/engine.hpp"
#include "http/server.hpp"
#include "http/upstream.hpp"
#include "ops/log.hpp"
#include "ops/metrics.hpp"
#include "proxy/proxy.hpp"
#include "scripted_kernel.hpp"
#include "stores/memory/memory_store.hpp"

namespace onceward::bench {
namespace {

constexpr std::size_t warm_up = 200;

enum class Path { pass_through, first, replay };

const std::string body =
    R"({"customerId": "c-1234567", "amount": 19.9, "currency": "EUR", "note": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"})";
const std::string upstream_answer =
    "HTTP/1.1 201 Created\r\nServer: nginx/1.22.1\r\nDate: Mon, 16 Nov 2026 03:00:00 GMT\r\n"
    "Content-Type: application/json\r\nContent-Length: 72\r\nConnection: keep-alive\r\n\r\n"
    R"({"id":"ord_1","state":"created","customerId":"c-1234567","amount":19.90})";

std::string request_text(Path path, std::size_t number) {
  std::string text = "POST /orders HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Type: application/json\r\n";
  if (path != Path::pass_through) {
    // Always as many digits, so that every request is as long as the next.
    std::string digits = std::to_string(path == Path::replay ? 1 : number);
    digits.insert(0, 9 - digits.size(), '0');
    text += "Idempotency-Key: r1-0-" + digits + "\r\n";
  }
  return text + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::shared_ptr<const Rules> make_rules() {
  auto rules = std::make_shared<Rules>();
  rules->fallback.policy = std::make_shared<const Policy>();
  Result<Routes> routes = Routes::compile({});
  ONCEWARD_ASSERT(routes.has_value());
  rules->routes = std::move(*routes);
  rules->seal();
  return rules;
}

// What each path must have done; a count of something else would be worth nothing.
bool is_as_named(Path path, const ScriptedKernel& kernel, std::size_t requests) {
  if (kernel.answered != requests || !kernel.last_answer.starts_with("HTTP/1.1 201 Created\r\n"))
    return false;
  const bool guarded = kernel.last_answer.find("Onceward-Operation-Id: ") != std::string::npos;
  switch (path) {
    case Path::pass_through:
      return kernel.forwarded == requests && !guarded;
    case Path::first:
      return kernel.forwarded == requests && guarded;
    case Path::replay:
      return kernel.forwarded == 1 && guarded;
  }
  return false;
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::size_t>(::getpagesize());
}

int run(Path path, std::size_t requests) {
  SystemClock clock;
  SystemRandom random;
  Log log({.level = LogLevel::off, .access = false});
  Metrics metrics({}, 1);
  const std::unique_ptr<Store> store = make_memory_store(clock);
  Engine engine(*store, clock, random);
  Quotas quotas(clock);
  BulkBoard bulk_board;
  net::Worker worker;
  Proxy proxy({engine, *store, clock, random, log, metrics, quotas, bulk_board}, worker, 0);

  ScriptedKernel kernel;
  kernel.answer = upstream_answer;
  const std::size_t all = warm_up + requests;
  std::size_t sent = 0;
  std::size_t resident = 0;
  kernel.next_request = [&]() -> std::string {
    if (sent == warm_up) {
      resident = resident_bytes();
      CALLGRIND_ZERO_STATS;
    }
    if (sent == all) {
      CALLGRIND_DUMP_STATS;
      return {};
    }
    // Not the product's work.
    CALLGRIND_TOGGLE_COLLECT;
    std::string text = request_text(path, sent++);
    CALLGRIND_TOGGLE_COLLECT;
    return text;
  };
  kernel.on_idle = [&] { worker.stop(); };
  use_kernel(kernel);

  http::UpstreamOptions options;
  options.url = "http://127.0.0.1:9";
  auto upstream = http::Upstream::make(worker, options);
  ONCEWARD_ASSERT(upstream.has_value());
  proxy.use(make_rules(), std::shared_ptr<http::Upstream>(std::move(*upstream)));
  http::Server server(worker, proxy, {});
  ONCEWARD_ASSERT(server.listen({"127.0.0.1:0"}).has_value());
  worker.run();

  const bool fine = is_as_named(path, kernel, all);
  std::printf("%zu requests, %zu answered, %zu forwarded%s\n", all, kernel.answered, kernel.forwarded,
              fine ? "" : ": NOT WHAT THIS PATH SHOULD DO");
  if (path == Path::first)
    std::printf("%zu resident bytes per record\n", (resident_bytes() - resident) / requests);
  std::fflush(stdout);
  // A suspended connection cannot be destroyed, and nobody will ever end this one.
  std::_Exit(fine ? 0 : 1);
}

}  // namespace
}  // namespace onceward::bench

int main(int count, char** arguments) {
  using onceward::bench::Path;
  const char* name = count > 1 ? arguments[1] : "";
  const std::size_t requests = count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 1000;
  if (std::strcmp(name, "pass-through") == 0) return onceward::bench::run(Path::pass_through, requests);
  if (std::strcmp(name, "first") == 0) return onceward::bench::run(Path::first, requests);
  if (std::strcmp(name, "replay") == 0) return onceward::bench::run(Path::replay, requests);
  std::fprintf(stderr, "usage: hot_paths pass-through|first|replay [requests]\n");
  return 2;
}
