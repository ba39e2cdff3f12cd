// `onceward consume`: the queue sidecar, until told to stop.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/json_text.hpp"
#include "cli/consume_runtime.hpp"
#include "cli/service_process.hpp"

namespace onceward::cli {
namespace {

struct ConsumeOptions {
  std::string config_file;
  std::optional<std::string> store, cache, api;
  std::string log_level = "info";
  bool json = false;
};

std::vector<NamedValue> flags_of(const ConsumeOptions& options) {
  std::vector<NamedValue> flags;
  const std::pair<const char*, const std::optional<std::string>*> given[] = {
      {"--store", &options.store}, {"--cache", &options.cache}, {"--api", &options.api}};
  for (const auto& [flag, text] : given) {
    if (*text) flags.emplace_back(flag, **text);
  }
  return flags;
}

std::expected<Config, ConfigErrors> load(const ConsumeOptions& options) {
  std::expected<Config, ConfigErrors> config = load_usable_config(options.config_file, flags_of(options));
  // `serve` may run from the same file beside us, and has that address unless told otherwise.
  const bool is_default = config && config->api.listen == Config{}.api.listen && config->api.socket.empty();
  if (!options.api && is_default) config->api.listen.reset();
  return config;
}

void print_ready(const ConsumeRuntime& runtime, bool json) {
  std::string names;
  for (const auto& consumer : runtime.consumers()) {
    names += names.empty() ? "" : json ? "," : ", ";
    if (json) {
      append_json_string(names, consumer->name());
    } else {
      names += consumer->name();
    }
  }
  const std::string& api = runtime.api_address();
  if (json) {
    std::printf("{\"event\":\"ready\",\"consumers\":[%s],\"api\":\"%s\"}\n", names.c_str(), api.c_str());
  } else {
    std::printf("onceward ready, consuming for %s%s%s\n", names.c_str(), api.empty() ? "" : ", api on ",
                api.c_str());
  }
  std::fflush(stdout);
}

// The next of the signals, or 0 when a moment has passed.
int next_signal(const sigset_t& signals, bool for_ever) {
  constexpr timespec moment{0, 20'000'000};
  return std::max(0, for_ever ? sigwaitinfo(&signals, nullptr) : sigtimedwait(&signals, nullptr, &moment));
}

void run_until_told_to_end(ConsumeRuntime& runtime, const ConsumeOptions& options, const sigset_t& signals,
                           Log& log) {
  for (bool was_ready = false;;) {
    if (!was_ready && runtime.is_ready()) {
      was_ready = true;
      print_ready(runtime, options.json);
      notify_service_manager("READY=1");
    }
    const int signal = next_signal(signals, was_ready);
    if (signal == SIGTERM || signal == SIGINT) return;
    if (signal == SIGHUP) reload(runtime, load(options), log);
  }
}

int consume(const Config& config, const ConsumeOptions& options, const sigset_t& signals) {
  Log log({.level = log_level(options.log_level),
           .access = false,
           .format = choose_log_format(STDERR_FILENO, options.json)});
  ConsumeRuntime runtime(config, log);
  if (const Result<Done> started = runtime.start(); !started) return tell_start_failure(started.error(), log);
  run_until_told_to_end(runtime, options, signals, log);
  return drain_and_end(runtime, log);
}

int run_consume(const ConsumeOptions& options) {
  const sigset_t signals = take_signals();
  const std::expected<Config, ConfigErrors> config = load(options);
  if (config) return consume(*config, options, signals);
  print_errors(config.error());
  return exit_usage;
}

}  // namespace

Command consume_command() {
  auto options = std::make_shared<ConsumeOptions>();  // shared by the parser and run()
  return {.name = "consume",
          .summary = "Take messages from queues and post each to a service once",
          .details =
              "Runs the `consumers` of the configuration: RabbitMQ, Redis Streams or Kafka. A message is\n"
              "acknowledged after its outcome is durable in the store; duplicates are not posted again.\n"
              "SIGHUP reloads the consumers. SIGTERM lets messages at work end, then stops.\n\n"
              "Examples:\n"
              "  onceward consume --config onceward.yaml\n"
              "  onceward consume --config onceward.yaml --api 127.0.0.1:9181",
          .options = {{.names = "--config,-c",
                       .help = "The configuration (YAML)",
                       .target = &options->config_file,
                       .value_name = "FILE",
                       .required = true,
                       .is_file = true},
                      {.names = "--store",
                       .help = "memory, file:DIR, redis://… or postgres://…",
                       .target = &options->store,
                       .value_name = "STORE"},
                      {.names = "--cache",
                       .help = "redis://… in front of a postgres store",
                       .target = &options->cache,
                       .value_name = "URL"},
                      {.names = "--api",
                       .help = "Where metrics, health and records are served, or off",
                       .target = &options->api,
                       .value_name = "HOST:PORT"},
                      {.names = "--log-level",
                       .help = "What is logged",
                       .target = &options->log_level,
                       .value_name = "LEVEL",
                       .choices = {"debug", "info", "warning", "error", "off"}},
                      {.names = "--json", .help = "Log JSON on a terminal too", .target = &options->json}},
          .run = [options] { return run_consume(*options); }};
}

}  // namespace onceward::cli
