#include "cli/demo_stage.hpp"

#include <unistd.h>

#include <future>

namespace onceward::cli {

DemoStage::DemoStage(const StagePlan& plan)
    : service_(plan.loss, plan.seed),
      server_(side_.worker, service_),
      // Lost answers are the show, and its summary counts them: a warning for each would bury it.
      log_({.level = LogLevel::error, .access = false, .format = choose_log_format(STDERR_FILENO, false)}) {}

Result<Done> DemoStage::open(const StagePlan& plan) {
  const Result<std::vector<std::string>> at = server_.listen({plan.service});
  if (!at) return at.error();
  service_url_ = "http://" + at->front();
  const std::vector<NamedValue> flags = {
      {"--upstream", service_url_}, {"--listen", plan.proxy}, {"--api", plan.api}, {"--store", plan.store}};
  const std::expected<Config, ConfigErrors> config = load_config_file("", flags);
  if (!config) return Error{Errc::invalid, config.error().messages.front()};
  auto runtime = std::make_unique<Runtime>(*config, log_);
  if (const Result<Done> started = runtime->start(); !started) return started.error();
  runtime_ = std::move(runtime);
  side_.run();
  return Done{};
}

Result<std::unique_ptr<DemoStage>> DemoStage::start(const StagePlan& plan) {
  std::unique_ptr<DemoStage> stage(new DemoStage(plan));
  if (const Result<Done> opened = stage->open(plan); !opened) return opened.error();
  return stage;
}

DemoStage::~DemoStage() {
  if (!runtime_) return;
  runtime_->drain();
  std::promise<void> closed;
  side_.worker.call([&] {
    spawn([](http::Server& server, std::promise<void>& told) -> Task<> {
      server.close_all();
      (void)co_await server.drain(MonoTime::max());
      told.set_value();
    }(server_, closed));
  });
  closed.get_future().wait();
}

}  // namespace onceward::cli
