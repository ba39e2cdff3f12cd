#include "cli/outbox_runner.hpp"

#include <fstream>
#include <future>
#include <iterator>

#include "base/await.hpp"
#include "messaging/brokers/make_sink.hpp"

namespace onceward::cli {
namespace {

// What was written just before the end is still sent, if the sink takes it.
constexpr Duration last_sending{1000};

Result<std::string> read_file(const std::string& file) {
  if (file.empty()) return std::string();
  std::ifstream in(file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in && !in.eof()) return Error{Errc::invalid, "cannot read outbox.secret_file " + file};
  if (text.empty()) return Error{Errc::invalid, "outbox.secret_file " + file + " is empty"};
  return text;
}

messaging::RelayOptions relay_options(const config::OutboxConfig& config) {
  messaging::RelayOptions options;
  options.timeout = config.timeout;
  options.attempts = static_cast<std::uint32_t>(config.attempts);
  options.backoff = config.backoff;
  options.max_backoff = config.max_backoff;
  options.poll = config.poll;
  return options;
}

}  // namespace

// On the relay's thread. A sink that is down is said once, not once per event.
class OutboxRunner::Observer final : public messaging::RelayObserver {
 public:
  Observer(Log& log, OutboxCounts& counts) : log_(log), counts_(counts) {}

  void sent(std::size_t events) override {
    if (events == 0) return;
    counts_.sent.fetch_add(events, std::memory_order_relaxed);
    if (std::exchange(sink_fails_, false)) log_.info("the outbox's sink takes events again", {});
    store_fails_ = false;
  }
  void failed(const PendingEvent& event, std::string_view error, bool set_aside) override {
    counts_.failed.fetch_add(1, std::memory_order_relaxed);
    if (set_aside) {
      log_.error("an event was set aside", {{"event", event.event.id}, {"reason", error}});
    } else if (!std::exchange(sink_fails_, true)) {
      log_.warning("an event was not taken and is tried again",
                   {{"event", event.event.id}, {"reason", error}});
    }
  }
  void store_failed(const Error& error) override {
    if (!std::exchange(store_fails_, true))
      log_.warning("the outbox cannot be read or written", {{"reason", error.message}});
  }

 private:
  Log& log_;
  OutboxCounts& counts_;
  bool sink_fails_ = false;
  bool store_fails_ = false;
};

Result<std::unique_ptr<OutboxRunner>> OutboxRunner::make(const config::OutboxConfig& config,
                                                         const OutboxContext& context) {
  if (!context.store.outbox())
    return Error{Errc::invalid,
                 "outbox: this store cannot keep events (a Redis cluster, or a store without them)"};
  Result<std::string> secret = read_file(config.secret_file);
  if (!secret) return secret.error();
  Result<std::unique_ptr<messaging::EventSink>> sink =
      messaging::make_sink({config.sink, config.exchange, std::move(*secret), config.timeout});
  if (!sink) return sink.error();
  return std::unique_ptr<OutboxRunner>(new OutboxRunner(config, context, std::move(*sink)));
}

OutboxRunner::OutboxRunner(const config::OutboxConfig& config, const OutboxContext& context,
                           std::unique_ptr<messaging::EventSink> sink)
    : clock_(context.clock),
      observer_(std::make_unique<Observer>(context.log, context.counts)),
      sender_(std::move(sink), worker_),
      relay_({context.store, worker_, context.clock, context.random, sender_, *observer_},
             relay_options(config)),
      bell_(worker_, [this](std::uint32_t partitions) { relay_.wake(partitions); }) {}

OutboxRunner::~OutboxRunner() { stop(); }

void OutboxRunner::start() {
  worker_.call([this] { relay_.start(); });
  thread_ = std::thread([this] { worker_.run(); });
}

void OutboxRunner::stop() {
  if (!thread_.joinable()) return;
  std::promise<void> ended;
  worker_.call([this, &ended] {
    relay_.stop(clock_.mono() + last_sending);
    spawn([](OutboxRunner& self, std::promise<void>& done) -> Task<> {
      while (!self.relay_.is_idle()) co_await SleepUntil(self.worker_, self.clock_.mono() + Duration(2));
      done.set_value();
    }(*this, ended));
  });
  ended.get_future().wait();
  worker_.stop();
  thread_.join();
}

}  // namespace onceward::cli
