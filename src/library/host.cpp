#include "library/host.hpp"

#include <algorithm>

#include "config/config_codec.hpp"
#include "library/compile_operation.hpp"

namespace onceward::api {
namespace {

// Work that still runs when the engine goes has so long to end.
constexpr Duration drain_limit{30'000};

Error invalid(std::string message) { return {Errc::invalid, std::move(message)}; }

Result<OpenedStore> open_named_store(const EngineOptions& options, const Clock& clock) {
  config::Config config;
  const std::string wrong = config::StoreCodec{}.read(config::YamlNode::string(options.store), config.store);
  if (!wrong.empty()) return invalid("store: " + wrong);
  if (!options.cache.empty()) {
    if (config.store.kind != config::StoreKind::postgres) return invalid("a cache is only for postgres");
    const std::string why = config::StoreCodec{.cache = true}.read(config::YamlNode::string(options.cache),
                                                                   config.cache.emplace());
    if (!why.empty()) return invalid("cache: " + why);
  }
  config.durability = options.synced ? config::Durability::disk : config::Durability::process;
  return open_store(config, clock);
}

Task<> fly(onceward::Engine& engine, Executor& executor, onceward::Command command,
           std::shared_ptr<onceward::Work> work, std::function<void(onceward::Outcome)> told,
           std::atomic<std::size_t>& busy) {
  const bool off = command.policy->mode == Mode::off;
  onceward::Outcome outcome = off ? co_await engine.run_unguarded(std::move(work))
                                  : co_await engine.run(executor, std::move(command), std::move(work));
  told(std::move(outcome));
  told = nullptr;  // what it holds goes before the host may
  busy.fetch_sub(1);
}

}  // namespace

Result<std::shared_ptr<Host>> Host::open(const EngineOptions& options) {
  auto parts = std::make_unique<Parts>();
  Result<OpenedStore> opened = open_named_store(options, parts->clock);
  if (!opened) return opened.error();
  parts->opened = std::move(*opened);
  std::shared_ptr<Host> host(new Host(options, std::move(parts)));
  if (const Result<Done> compiled = host->compile_rules(); !compiled) return compiled.error();
  host->run();
  return host;
}

Result<std::shared_ptr<Host>> Host::open(const EngineOptions& options, std::unique_ptr<Store> store) {
  auto parts = std::make_unique<Parts>();
  parts->opened.store = std::move(store);
  std::shared_ptr<Host> host(new Host(options, std::move(parts)));
  if (const Result<Done> compiled = host->compile_rules(); !compiled) return compiled.error();
  host->run();
  return host;
}

Host::Host(const EngineOptions& options, std::unique_ptr<Parts> parts)
    : options_(options), parts_(std::move(parts)) {}

Result<Done> Host::compile_rules() {
  Result<Operation> fallback = compile_operation("", "", options_.defaults);
  if (!fallback) return fallback.error();
  rules_.fallback = std::move(*fallback);
  const bool tells = std::ranges::any_of(
      options_.operations, [](const OperationPolicy& entry) { return !entry.policy.events.empty(); });
  if (tells && !parts_->opened.store->outbox())
    return invalid("operations have events, and this store keeps none");
  // Routes find operations by position: those without a pattern, for commands only, come last.
  std::vector<std::string> patterns;
  for (const bool with_match : {true, false}) {
    if (Result<Done> added = add_operations(with_match, patterns); !added) return added;
  }
  Result<Routes> routes = Routes::compile(patterns);
  if (!routes) return invalid(routes.error().message);
  rules_.routes = std::move(*routes);
  rules_.max_response = options_.max_response;
  rules_.secret = options_.secret;
  return Done{};
}

Result<Done> Host::add_operations(bool with_match, std::vector<std::string>& patterns) {
  for (const OperationPolicy& entry : options_.operations) {
    if (entry.match.empty() == with_match) continue;
    if (entry.name.empty()) return invalid("an operation has no name");
    const bool twice = std::ranges::any_of(rules_.operations,
                                           [&](const Operation& other) { return other.name == entry.name; });
    if (twice) return invalid("two operations have the name '" + entry.name + "'");
    Result<Operation> operation = compile_operation(entry.name, entry.match, entry.policy);
    if (!operation) return operation.error();
    if ((entry.policy.unique || entry.policy.suspect) && !parts_->opened.store->keeps_marks())
      return invalid("operation '" + entry.name + "': this store cannot keep unique and suspect");
    rules_.operations.push_back(std::move(*operation));
    if (with_match) patterns.push_back(entry.match);
  }
  return Done{};
}

void Host::run() {
  Parts& parts = *parts_;
  parts.engine = std::make_unique<onceward::Engine>(*parts.opened.store, parts.clock, parts.random);
  parts.log = std::make_unique<Log>(LogOptions{.level = LogLevel::off, .access = false});
  parts.purger = std::make_unique<Purger>(*parts.opened.store, parts.worker, parts.clock, *parts.log);
  parts.worker.call([&parts] { parts.purger->start(); });
  parts.thread = std::thread([&parts] { parts.worker.run(); });
}

const Operation& Host::operation_named(const std::string& name) const {
  const auto found =
      std::ranges::find_if(rules_.operations, [&](const Operation& entry) { return entry.name == name; });
  return found == rules_.operations.end() ? rules_.fallback : *found;
}

void Host::start(onceward::Command command, std::shared_ptr<onceward::Work> work,
                 std::function<void(onceward::Outcome)> told) {
  Parts& parts = *parts_;
  parts.busy.fetch_add(1);
  parts.worker.call([&parts, command = std::move(command), work = std::move(work),
                     told = std::move(told)]() mutable {
    spawn(fly(*parts.engine, parts.worker, std::move(command), std::move(work), std::move(told), parts.busy));
  });
}

void Host::post(std::function<void()> job) {
  Parts& parts = *parts_;
  parts.busy.fetch_add(1);
  parts.worker.call([&parts, job = std::move(job)]() mutable {
    job();
    job = nullptr;
    parts.busy.fetch_sub(1);
  });
}

bool Host::is_quiet() const { return parts_->busy.load() == 0 && parts_->engine->executions() == 0; }

void Host::drain() {
  Parts& parts = *parts_;
  const MonoTime deadline = parts.clock.mono() + drain_limit;
  while (!is_quiet() && parts.clock.mono() < deadline) std::this_thread::sleep_for(Duration(1));
  std::promise<void> stopped;
  parts.worker.call([&] {
    parts.purger->stop();
    spawn([](Parts& all, std::promise<void>& done) -> Task<> {
      (void)co_await all.engine->mark_leftovers_unknown(all.worker);
      while (!all.purger->is_idle()) co_await SleepUntil(all.worker, all.clock.mono() + Duration(1));
      done.set_value();
    }(parts, stopped));
  });
  stopped.get_future().wait();
}

Host::~Host() {
  if (!parts_->thread.joinable()) return;
  // The last reference may go on the host's own thread, with a callback that held an Engine: nobody can wait
  // there for what that thread has to do.
  if (on_own_thread()) {
    parts_->thread.detach();
    (void)parts_.release();
    return;
  }
  drain();
  if (!is_quiet()) {
    // Work that never ended: its frames wait on this worker, which must not go away under them.
    parts_->thread.detach();
    (void)parts_.release();
    return;
  }
  parts_->worker.stop();
  parts_->thread.join();
}

}  // namespace onceward::api
