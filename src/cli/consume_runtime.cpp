#include "cli/consume_runtime.hpp"

#include <algorithm>
#include <future>

#include "cli/make_rules.hpp"

namespace onceward::cli {
namespace {

constexpr Duration drain_margin{5000};

std::vector<std::string> consumer_names(const Config& config) {
  std::vector<std::string> names;
  for (const ConsumerConfig& consumer : config.consumers) names.push_back(consumer.name);
  return names;
}

messaging::SourceOptions source_options(const ConsumerConfig& consumer) {
  return {consumer.from, consumer.dead_letter, consumer.concurrency};
}

const Error no_consumers{Errc::invalid, "the configuration has no `consumers`"};

Error about(const ConsumerConfig& consumer, const Error& error) {
  return {Errc::invalid, "consumer '" + consumer.name + "': " + error.message};
}

Task<> close_and_tell(ApiListener& api, std::promise<void>& done) {
  co_await api.close();
  done.set_value();
}

}  // namespace

// Feeds the metrics; on the worker.
class ConsumeRuntime::Observer final : public EngineObserver {
 public:
  Observer(Metrics& metrics, Log& log) : metrics_(metrics), shard_(metrics.shard(0)), log_(log) {}
  void store_answered(std::string_view verb, std::chrono::nanoseconds took, bool failed) override {
    for (std::size_t i = 0; i < store_verbs; ++i) {
      const auto each = static_cast<StoreVerb>(i);
      if (to_string(each) == verb) shard_.store_call(each, took, failed);
    }
  }
  void became_unknown(const Record& record, UnknownCause cause) override {
    shard_.unknown(metrics_.known_operation(record.request->operation), cause);
    log_.warning("outcome unknown", {{"operation_id", to_string(record.operation_id)},
                                     {"epoch", static_cast<std::int64_t>(record.epoch)},
                                     {"cause", to_string(cause)}});
  }

 private:
  Metrics& metrics_;
  Metrics::Shard& shard_;
  Log& log_;
};

Result<Done> check_consumers(const Config& config) {
  for (const ConsumerConfig& consumer : config.consumers) {
    if (const auto source = messaging::make_source(source_options(consumer)); !source)
      return about(consumer, source.error());
  }
  return Done{};
}

ConsumeRuntime::ConsumeRuntime(const Config& config, Log& log)
    : config_(config), log_(log), metrics_(consumer_names(config), 1) {}

// First the thread: the connections and timers that go with the rest are on its worker.
ConsumeRuntime::~ConsumeRuntime() { lane_.end(); }

Result<Done> ConsumeRuntime::start() {
  if (config_.consumers.empty()) return no_consumers;
  if (Result<Done> checked = check_consumers(config_); !checked) return checked;
  Result<OpenedStore> opened = open_store(config_, clock_);
  if (!opened) return opened.error();
  opened_ = std::move(*opened);
  if (const Readiness state = opened_.readiness(); !state.message.empty())
    log_.warning(state.ready ? "the store works, but" : "the store is not ready",
                 {{"reason", state.message}});
  if (config_.store.kind == StoreKind::memory)
    log_.warning("the store is in memory: a message that comes again after a restart is handled again");
  engine_ = std::make_unique<Engine>(*opened_.store, clock_, random_);
  observer_ = std::make_unique<Observer>(metrics_, log_);
  Result<Consumers> made = make_consumers(config_);
  if (!made) return made.error();
  consumers_ = std::move(*made);
  api_ = std::make_unique<ApiListener>(
      config_, ApiListener::Context{*opened_.store, clock_, random_, metrics_, log_, engine_->events()});
  if (Result<Done> started = api_->start(lane_.worker, [this] { return readiness(); }); !started)
    return started;
  purger_ = std::make_unique<Purger>(*opened_.store, lane_.worker, clock_, log_);
  lane_.worker.call([this] { purger_->start(); });
  lane_.run();
  for (const auto& consumer : consumers_) consumer->start();
  return Done{};
}

Result<ConsumeRuntime::Consumers> ConsumeRuntime::make_consumers(const Config& config) {
  const Result<std::string> secret = read_secret(config.security.secret_file);
  if (!secret) return secret.error();
  Consumers consumers;
  for (const ConsumerConfig& consumer : config.consumers) {
    Result<std::unique_ptr<sidecar::Consumer>> made = make_consumer(config, consumer, *secret);
    if (!made) return made.error();
    consumers.push_back(std::move(*made));
  }
  return consumers;
}

Result<std::unique_ptr<sidecar::Consumer>> ConsumeRuntime::make_consumer(const Config& config,
                                                                         const ConsumerConfig& consumer,
                                                                         const std::string& secret) {
  http::UpstreamOptions options;
  options.url = consumer.to.url.origin();
  options.connect_timeout = config.upstream.connect_timeout;
  options.timeout = consumer.timeout;
  options.max_connections = consumer.concurrency;
  options.tls.ca_file = config.upstream.ca_file;
  Result<std::unique_ptr<http::Upstream>> service = http::Upstream::make(lane_.worker, options);
  if (!service) return about(consumer, service.error());
  Result<std::unique_ptr<messaging::MessageSource>> source = messaging::make_source(source_options(consumer));
  if (!source) return about(consumer, source.error());
  Result<CompiledFingerprintPolicy> fingerprint =
      CompiledFingerprintPolicy::compile(consumer.policy.fingerprint);
  if (!fingerprint) return about(consumer, fingerprint.error());

  sidecar::HandlerRules rules;
  const std::string& target = consumer.to.url.target;
  rules.target = {consumer.to.method, target.empty() ? "/" : target, consumer.to.url.authority(),
                  consumer.name};
  rules.id = consumer.id;
  rules.attempts = consumer.attempts;
  rules.pause = consumer.backoff;
  rules.policy = std::make_shared<const Policy>(consumer.policy);
  rules.fingerprint = std::move(*fingerprint);
  rules.max_response = config.limits.max_response;
  rules.secret = secret;
  rules.hash_keys = config.security.hash_keys;
  rules.metrics_index = metrics_.operation(consumer.name);
  const sidecar::SidecarContext context{*engine_, lane_.worker,      clock_,         random_,
                                        log_,     metrics_.shard(0), observer_.get()};
  return std::make_unique<sidecar::Consumer>(context, std::move(rules), std::move(*service),
                                             std::move(*source), consumer.concurrency);
}

Result<std::vector<std::string>> ConsumeRuntime::reload(const Config& config) {
  if (config.consumers.empty()) return no_consumers;
  // Everything that can fail is made first.
  Result<Consumers> made = make_consumers(config);
  if (!made) return made.error();
  std::shared_ptr<const ApiRules> api_rules;
  if (api_->is_on()) {
    Result<std::shared_ptr<const ApiRules>> loaded = api_->load_rules(config);
    if (!loaded) return loaded.error();
    api_rules = std::move(*loaded);
  }
  end_consumers();
  std::promise<void> changed;
  lane_.worker.call([&] {
    for (std::unique_ptr<sidecar::Consumer>& old : consumers_) {
      if (!old->is_quiet()) retired_.push_back(std::move(old));
    }
    consumers_ = std::move(*made);
    if (api_rules) api_->use(std::move(api_rules));
    changed.set_value();
  });
  changed.get_future().wait();
  for (const auto& consumer : consumers_) consumer->start();
  std::vector<std::string> kept;
  const auto keeps = [&](bool differs, const char* key) {
    if (differs) kept.emplace_back(key);
  };
  keeps(config.store != config_.store, "store");
  keeps(config.cache != config_.cache, "cache");
  keeps(config.durability != config_.durability, "durability");
  keeps(config.api.listen != config_.api.listen, "api.listen");
  keeps(config.api.socket != config_.api.socket, "api.socket");
  config_.consumers = config.consumers;
  return kept;
}

// Messages at work may end, for as long as their service may take.
void ConsumeRuntime::end_consumers() {
  Duration longest{};
  for (const ConsumerConfig& consumer : config_.consumers) longest = std::max(longest, consumer.timeout);
  const MonoTime deadline = clock_.mono() + longest + drain_margin;
  for (const auto& consumer : consumers_) consumer->stop(deadline);
  for (const auto& consumer : consumers_) consumer->join();
}

Readiness ConsumeRuntime::readiness() const {
  Readiness state = opened_.readiness();
  for (const auto& consumer : consumers_) {
    if (!state.ready || consumer->is_connected()) continue;
    state.ready = false;
    state.message = "consumer '" + consumer->name() + "': " + consumer->problem();
  }
  return state;
}

bool ConsumeRuntime::is_ready() const {
  return std::ranges::all_of(consumers_, [](const auto& consumer) { return consumer->is_connected(); });
}

void ConsumeRuntime::drain() {
  end_consumers();
  std::promise<std::size_t> marked;
  std::promise<void> closed;
  lane_.worker.call([&] {
    purger_->stop();
    spawn([](ConsumeRuntime& runtime, std::promise<std::size_t>& count) -> Task<> {
      count.set_value(co_await runtime.engine_->mark_leftovers_unknown(runtime.lane_.worker));
    }(*this, marked));
    spawn(close_and_tell(*api_, closed));
  });
  if (const std::size_t count = marked.get_future().get())
    log_.warning("some messages did not end in time and are held as unknown",
                 {{"records", static_cast<std::int64_t>(count)}});
  closed.get_future().wait();
}

bool ConsumeRuntime::is_quiet() const {
  const auto is_idle = [](const auto& consumer) { return consumer->is_quiet(); };
  return std::ranges::all_of(consumers_, is_idle) && std::ranges::all_of(retired_, is_idle) &&
         engine_->executions() == 0 && purger_->is_idle();
}

}  // namespace onceward::cli
