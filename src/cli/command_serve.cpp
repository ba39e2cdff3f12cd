// `onceward serve`: runs until told to stop. Signals are taken by the main thread alone.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "cli/commands.hpp"
#include "cli/notify.hpp"
#include "cli/runtime.hpp"

namespace onceward::cli {
namespace {

LogLevel level_from(const std::string& text) {
  if (text == "debug") return LogLevel::debug;
  if (text == "warning") return LogLevel::warning;
  if (text == "error") return LogLevel::error;
  if (text == "off") return LogLevel::off;
  return LogLevel::info;
}

void print_errors(const ConfigErrors& errors) {
  for (const std::string& message : errors.messages) std::cerr << message << '\n';
}

bool is_supported(const Config& config) {
  const std::vector<std::string> missing = unsupported_features(config);
  for (const std::string& sentence : missing) std::cerr << "onceward: " << sentence << '\n';
  return missing.empty();
}

std::string scheme(bool tls) { return tls ? "https://" : "http://"; }

void print_ready(const Runtime& runtime, const Config& config, bool json) {
  std::string listening;
  std::string listening_json;
  for (const std::string& address : runtime.addresses()) {
    const std::string url = scheme(config.tls.has_value()) + address;
    listening += (listening.empty() ? "" : ", ") + url;
    listening_json += (listening_json.empty() ? "\"" : ",\"") + url + "\"";
  }
  const bool has_url = !runtime.api_address().empty() && !runtime.api_address().starts_with("unix:");
  const std::string api = (has_url ? scheme(config.api.tls.has_value()) : "") + runtime.api_address();
  if (json) {
    std::printf("{\"event\":\"ready\",\"listening\":[%s],\"api\":\"%s\"}\n", listening_json.c_str(),
                api.c_str());
  } else {
    std::printf("onceward ready, listening on %s%s%s\n", listening.c_str(), api.empty() ? "" : ", api on ",
                api.c_str());
  }
  std::fflush(stdout);
}

void reload(Runtime& runtime, const ServeOptions& options, Log& log) {
  notify_service_manager("RELOADING=1");
  const std::expected<Config, ConfigErrors> config = load_config_file(options.config_file, options.flags);
  if (!config) {
    for (const std::string& message : config.error().messages)
      log.error("reload refused", {{"reason", message}});
    log.error("the old rules stay in force");
  } else if (const std::vector<std::string> missing = unsupported_features(*config); !missing.empty()) {
    for (const std::string& sentence : missing) log.error("reload refused", {{"reason", sentence}});
    log.error("the old rules stay in force");
  } else if (const Result<std::vector<std::string>> kept = runtime.reload(*config); !kept) {
    log.error("reload refused", {{"reason", kept.error().message}});
    log.error("the old rules stay in force");
  } else {
    for (const std::string& key : *kept) log.warning("needs a restart to change", {{"key", key}});
    log.info("reloaded");
  }
  notify_service_manager("READY=1");
}

// Each connection is a descriptor; the usual soft limit of 1024 is for programs that use select().
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);  // if not, there are fewer connections, and accept() says so
}

int serve(const Config& config, const ServeOptions& options, const sigset_t& signals) {
  Log log({.level = level_from(options.log_level),
           .access = options.access_log,
           .format = choose_log_format(STDERR_FILENO, options.json),
           .lanes = worker_count(config)});
  Runtime runtime(config, log);
  if (const Result<Done> started = runtime.start(); !started) {
    log.flush();
    std::cerr << "onceward: " << started.error().message << '\n';
    return started.error().code == Errc::invalid ? exit_usage : exit_failed;
  }
  if (!config.consumers.empty()) log.info("`onceward consume` runs the consumers of this file");
  print_ready(runtime, config, options.json);
  notify_service_manager("READY=1");
  for (;;) {
    int signal = 0;
    sigwait(&signals, &signal);
    if (signal != SIGHUP) break;
    reload(runtime, options, log);
  }
  log.info("draining");
  notify_service_manager("STOPPING=1");
  runtime.drain();
  log.info("stopped");
  if (!runtime.is_quiet()) {
    // Somebody still listens for a late answer, or retries a write. Their records say unknown, which stays
    // true; nothing is gained by waiting, and frames that are suspended cannot be destroyed.
    log.flush();
    std::_Exit(exit_done);
  }
  return exit_done;
}

}  // namespace

int run_serve(const ServeOptions& options) {
  // Before any thread exists, so that all of them leave these signals to this one.
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  raise_descriptor_limit();

  const std::expected<Config, ConfigErrors> config = load_config_file(options.config_file, options.flags);
  if (!config) {
    print_errors(config.error());
    return exit_usage;
  }
  if (!is_supported(*config)) return exit_usage;
  return serve(*config, options, signals);
}

}  // namespace onceward::cli
