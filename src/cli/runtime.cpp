#include "cli/runtime.hpp"

#include <algorithm>
#include <future>

#include "base/await.hpp"
#include "cli/make_rules.hpp"

namespace onceward::cli {
namespace {

// Requests in flight end by themselves within the upstream's time-out; this is for writing the answers.
constexpr Duration drain_margin{5000};
constexpr Duration leftovers_limit{5000};
// A small bulk request may still end as a whole; a large one is cut short so that its items end in time.
constexpr Duration bulk_grace{2000};

Task<> drain_and_tell(http::Server& server, MonoTime deadline, std::promise<void>& done) {
  if (!co_await server.drain(deadline)) {
    server.close_all();
    (void)co_await server.drain(MonoTime::max());
  }
  done.set_value();
}

Task<> close_and_tell(ApiListener& api, std::promise<void>& done) {
  co_await api.close();
  done.set_value();
}

}  // namespace

struct Runtime::Lane {
  net::Worker worker;
  std::unique_ptr<Proxy> proxy;
  std::unique_ptr<http::Server> server;
  std::thread thread;
};

std::size_t worker_count(const Config& config) {
  if (config.workers != 0) return config.workers;
  return std::max(1u, std::thread::hardware_concurrency());
}

Runtime::Runtime(const Config& config, Log& log)
    : config_(config), log_(log), metrics_(operation_names(config), worker_count(config)) {}

Runtime::~Runtime() {
  on_each_lane([](Lane& lane) {
    lane.worker.stop();
    if (lane.thread.joinable()) lane.thread.join();
  });
}

void Runtime::on_each_lane(const std::function<void(Lane&)>& job) {
  for (const std::unique_ptr<Lane>& lane : lanes_) job(*lane);
}

Result<std::shared_ptr<http::Upstream>> Runtime::make_upstream(Lane& lane, const Config& config) const {
  http::UpstreamOptions options;
  options.url = config.upstream.url->origin();
  options.connect_timeout = config.upstream.connect_timeout;
  options.timeout = config.upstream.timeout;
  options.max_connections = std::max<std::size_t>(1, config.upstream.max_connections / worker_count(config_));
  options.tls.ca_file = config.upstream.ca_file;
  Result<std::unique_ptr<http::Upstream>> upstream = http::Upstream::make(lane.worker, options);
  if (!upstream) return Error{Errc::invalid, upstream.error().message};
  return std::shared_ptr<http::Upstream>(std::move(*upstream));
}

Result<Done> Runtime::check_marks(const Config& config) const {
  if (opened_.store->keeps_marks()) return Done{};
  for (const OperationConfig& operation : config.operations) {
    if (operation.policy.unique || operation.policy.suspect)
      return Error{Errc::invalid,
                   "operation '" + operation.name +
                       "': unique and suspect need a store that changes two keys in one step; " +
                       config_.store.text.substr(0, config_.store.text.find(':')) + " cannot"};
  }
  return Done{};
}

Result<Done> Runtime::start() {
  if (!config_.upstream.url) return Error{Errc::invalid, "no upstream: give --upstream URL or `upstream:`"};
  Result<OpenedStore> opened = open_store(config_, clock_);
  if (!opened) return opened.error();
  opened_ = std::move(*opened);
  if (Result<Done> marks = check_marks(config_); !marks) return marks;
  if (const Readiness state = opened_.readiness(); !state.message.empty())
    log_.warning(state.ready ? "the store works, but" : "the store is not ready",
                 {{"reason", state.message}});
  engine_ = std::make_unique<Engine>(*opened_.store, clock_, random_, config_.probes.per_second);
  if (Result<Done> made = make_outbox(); !made) return made;
  if (Result<Done> started = start_lanes(); !started) return started;
  api_ = std::make_unique<ApiListener>(
      config_, ApiListener::Context{*opened_.store, clock_, random_, metrics_, log_, engine_->events()});
  if (Result<Done> started = api_->start(lanes_[0]->worker, opened_.readiness); !started) return started;
  purger_ = std::make_unique<Purger>(*opened_.store, lanes_[0]->worker, clock_, log_);
  Lane& first = *lanes_[0];
  sweep_ = std::make_unique<ProbeSweep>(*engine_, *opened_.store, first.worker, clock_, first.proxy->prober(),
                                        first.proxy->observer());
  first.worker.call([this] {
    purger_->start();
    sweep_->start();
  });
  on_each_lane([](Lane& lane) { lane.thread = std::thread([&lane] { lane.worker.run(); }); });
  if (outbox_) outbox_->start();
  return Done{};
}

Result<Done> Runtime::make_outbox() {
  if (!config_.outbox) return Done{};
  Result<std::unique_ptr<OutboxRunner>> made =
      OutboxRunner::make(*config_.outbox, {*opened_.store, clock_, random_, log_, metrics_.outbox()});
  if (!made) return made.error();
  outbox_ = std::move(*made);
  engine_->events().use([runner = outbox_.get()](std::uint16_t partition) { runner->ring(partition); });
  return Done{};
}

Result<Done> Runtime::start_lanes() {
  const ProxyContext context{*engine_, *opened_.store, clock_, random_, log_, metrics_, quotas_, bulk_board_};
  std::vector<std::string> wanted;
  for (const Address& address : config_.listen) wanted.push_back(address.text());
  for (std::size_t index = 0; index < worker_count(config_); ++index) {
    Lane& lane = *lanes_.emplace_back(std::make_unique<Lane>());
    lane.proxy = std::make_unique<Proxy>(context, lane.worker, index);
    Result<std::shared_ptr<const Rules>> rules = make_rules(config_, metrics_);
    if (!rules) return rules.error();
    Result<std::shared_ptr<http::Upstream>> upstream = make_upstream(lane, config_);
    if (!upstream) return upstream.error();
    lane.proxy->use(std::move(*rules), std::move(*upstream));
    lane.server = std::make_unique<http::Server>(lane.worker, *lane.proxy, server_limits(config_));
    if (config_.tls) {
      if (Result<Done> used = use_certificates(*lane.server, *config_.tls); !used) return used;
    }
    Result<std::vector<std::string>> bound =
        lane.server->listen(index == 0 ? wanted : addresses_, index != 0);
    if (!bound) return bound.error();
    if (index == 0) addresses_ = std::move(*bound);
  }
  return Done{};
}

Result<std::vector<std::string>> Runtime::reload(const Config& config) {
  if (!config.upstream.url) return Error{Errc::invalid, "no upstream"};
  if (config.outbox && !opened_.store->outbox())
    return Error{Errc::invalid, "outbox: this store cannot keep events"};
  if (Result<Done> marks = check_marks(config); !marks) return marks.error();
  // Everything that can fail is made first; then it is handed out, and nothing can fail any more.
  struct Fresh {
    std::shared_ptr<const Rules> rules;
    std::shared_ptr<http::Upstream> upstream;
  };
  std::vector<Fresh> fresh;
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    Result<std::shared_ptr<const Rules>> rules = make_rules(config, metrics_);
    if (!rules) return rules.error();
    Result<std::shared_ptr<http::Upstream>> upstream = make_upstream(*lane, config);
    if (!upstream) return upstream.error();
    fresh.push_back({std::move(*rules), std::move(*upstream)});
  }
  std::shared_ptr<const ApiRules> api_rules;
  if (api_->is_on()) {
    Result<std::shared_ptr<const ApiRules>> loaded = api_->load_rules(config);
    if (!loaded) return loaded.error();
    api_rules = std::move(*loaded);
  }
  for (std::size_t index = 0; index < lanes_.size(); ++index) {
    Lane& lane = *lanes_[index];
    std::promise<Result<Done>> done;
    lane.worker.call([&] {
      Result<Done> tls = config.tls ? use_certificates(*lane.server, *config.tls) : Result<Done>(Done{});
      if (tls) {
        lane.server->set_limits(server_limits(config));
        lane.proxy->use(std::move(fresh[index].rules), std::move(fresh[index].upstream));
        if (index == 0 && api_rules) api_->use(std::move(api_rules));
      }
      done.set_value(std::move(tls));
    });
    if (const Result<Done> tls = done.get_future().get(); !tls) return tls.error();
  }
  std::vector<std::string> kept;
  const auto keeps = [&](bool changed, const char* key) {
    if (changed) kept.push_back(key);
  };
  keeps(config.listen != config_.listen, "listen");
  keeps(config.store != config_.store, "store");
  keeps(config.durability != config_.durability, "durability");
  keeps(config.workers != config_.workers, "workers");
  keeps(config.probes.per_second != config_.probes.per_second, "probes.per_second");
  keeps(config.api.listen != config_.api.listen, "api.listen");
  keeps(config.api.socket != config_.api.socket, "api.socket");
  keeps(config.tls.has_value() != config_.tls.has_value(), "tls");
  keeps(config.outbox != config_.outbox, "outbox");
  return kept;
}

void Runtime::drain() {
  const MonoTime deadline = clock_.mono() + config_.upstream.timeout + drain_margin;
  std::vector<std::promise<void>> done(lanes_.size() + 1);
  lanes_.front()->worker.call([this] { sweep_->stop(); });  // no question that nobody will hear the answer to
  for (std::size_t index = 0; index < lanes_.size(); ++index) {
    Lane& lane = *lanes_[index];
    lane.worker.call([&, index] {
      lane.proxy->wind_down(clock_.mono() + bulk_grace);
      spawn(drain_and_tell(*lane.server, deadline, done[index]));
    });
  }
  for (std::size_t index = 0; index < lanes_.size(); ++index) done[index].get_future().wait();

  // Answers are out; outcomes that could not be stored yet are still being tried. Not for ever.
  while (engine_->flights() != 0 && clock_.mono() < deadline) std::this_thread::sleep_for(Duration(5));
  Lane& first = *lanes_.front();
  std::promise<std::size_t> marked;
  std::future<std::size_t> marking = marked.get_future();
  first.worker.call([&] {
    purger_->stop();
    spawn([](Runtime& runtime, std::promise<std::size_t>& count) -> Task<> {
      count.set_value(co_await runtime.engine_->mark_leftovers_unknown(runtime.lanes_.front()->worker));
    }(*this, marked));
    spawn(close_and_tell(*api_, done.back()));
  });
  if (marking.wait_for(leftovers_limit) == std::future_status::ready) {
    if (const std::size_t count = marking.get()) {
      log_.warning("some requests did not end in time and are held as unknown",
                   {{"records", static_cast<std::int64_t>(count)}});
    }
  }
  done.back().get_future().wait();
  if (outbox_) outbox_->stop();  // last: what the requests in flight had to tell goes out
}

bool Runtime::is_quiet() const {
  return engine_->executions() == 0 && purger_->is_idle() && sweep_->is_idle();
}

}  // namespace onceward::cli
