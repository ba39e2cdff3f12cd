// What docs/library.md shows, as a program: blocking, by callback, by hand, with rules from YAML, over HTTP.
#include <onceward/claim.hpp>
#include <onceward/engine.hpp>
#include <onceward/http.hpp>
#include <onceward/settings.hpp>

#include <future>
#include <stdexcept>
#include <string>

#include "check.hpp"

namespace {

using onceward::Command;
using onceward::Effect;
using onceward::Engine;
using onceward::Outcome;
using onceward::Ticket;

Engine open(const onceward::EngineOptions& options) {
  onceward::Result<Engine> opened = Engine::open(options);
  if (!opened) std::fprintf(stderr, "%s\n", opened.error().message.c_str());
  CHECK(opened);
  return std::move(*opened);
}

Command charge(const std::string& key, const std::string& payload) {
  Command command;
  command.tenant = "acme";
  command.operation = "charge";
  command.key = key;
  command.payload = payload;
  command.content_type = "application/json";
  return command;
}

void blocks(Engine& engine) {
  int charges = 0;
  const auto work = [&](const Ticket& ticket) {
    CHECK(!ticket.operation_id.empty() && ticket.epoch == 1);
    return Effect::succeeded("receipt " + std::to_string(++charges));
  };
  const Outcome first = engine.run(charge("k1", R"({"amount": 5})"), work);
  CHECK(first.kind == Outcome::Kind::executed && first.value == "receipt 1");
  const Outcome retry = engine.run(charge("k1", R"({"amount": 5.0})"), work);
  CHECK(retry.kind == Outcome::Kind::replayed && retry.value == "receipt 1" && charges == 1);
  const Outcome other = engine.run(charge("k1", R"({"amount": 6})"), work);
  CHECK(other.kind == Outcome::Kind::mismatch && other.changed.at(0) == "/amount");

  bool thrown = false;
  try {
    (void)engine.run(charge("k2", "{}"), [](const Ticket&) -> Effect { throw std::runtime_error("boom"); });
  } catch (const std::runtime_error&) {
    thrown = true;
  }
  CHECK(thrown);
  CHECK(engine.run(charge("k2", "{}"), work).kind == Outcome::Kind::unknown);
}

void calls_back(Engine& engine) {
  std::promise<Outcome> told;
  engine.run(
      charge("k3", "{}"),
      [](const Ticket&, const onceward::Finish& finish) { finish(Effect::succeeded("called back")); },
      [&](Outcome outcome) { told.set_value(std::move(outcome)); });
  CHECK(told.get_future().get().value == "called back");
}

void by_hand(Engine& engine) {
  onceward::ClaimResult result = engine.claim(charge("k4", "{}"));
  CHECK(result.claim);
  CHECK(engine.claim(charge("k4", "{}")).outcome.kind == Outcome::Kind::in_progress);
  CHECK(result.claim->dispatch());
  CHECK(result.claim->renew());
  CHECK(result.claim->complete("by hand"));
  CHECK(engine.claim(charge("k4", "{}")).outcome.value == "by hand");
}

void over_http() {
  const onceward::Result<onceward::Settings> settings = onceward::settings_from_yaml(R"(
store: file:./consumer-data
identity: { tenant: { required: true } }
operations:
  - { name: orders.create, match: POST /orders, key: { required: true }, ttl: 7d, mismatch_status: 409 }
)");
  CHECK(settings);
  Engine engine = open(settings->engine);
  onceward::HttpGuard guard(engine, settings->http);
  int orders = 0;
  const auto service = [&](const onceward::HttpRequest&) {
    return onceward::HttpResponse{201, {{"Location", "/orders/1"}}, "order " + std::to_string(++orders)};
  };
  onceward::HttpRequest request{"POST", "/orders", {{"X-Tenant-ID", "acme"}}, "a book"};
  CHECK(guard.handle(request, service).status == 400);
  request.headers.emplace_back("Idempotency-Key", "k5");
  CHECK(guard.handle(request, service).body == "order 1");
  CHECK(guard.handle(request, service).body == "order 1" && orders == 1);
  request.body = "a pen";
  CHECK(guard.handle(request, service).status == 409);
  CHECK(!onceward::settings_from_yaml("defaults: { tttl: 1h }"));
}

}  // namespace

int main() {
  Engine engine = open({});
  blocks(engine);
  calls_back(engine);
  by_hand(engine);
  over_http();
  uses_asio();
  uses_client();
  std::puts("consumer: all as documented");
}
