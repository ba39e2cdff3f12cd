// `onceward serve`: runs until told to stop.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "cli/runtime.hpp"
#include "cli/service_process.hpp"

namespace onceward::cli {
namespace {

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

// Each connection is a descriptor; the usual soft limit of 1024 is for programs that use select().
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);  // if not, there are fewer connections, and accept() says so
}

int serve(const Config& config, const ServeOptions& options, const sigset_t& signals) {
  Log log({.level = log_level(options.log_level),
           .access = options.access_log,
           .format = choose_log_format(STDERR_FILENO, options.json),
           .lanes = worker_count(config)});
  Runtime runtime(config, log);
  if (const Result<Done> started = runtime.start(); !started) return tell_start_failure(started.error(), log);
  if (!config.consumers.empty()) log.info("`onceward consume` runs the consumers of this file");
  print_ready(runtime, config, options.json);
  notify_service_manager("READY=1");
  for (;;) {
    int signal = 0;
    sigwait(&signals, &signal);
    if (signal != SIGHUP) break;
    reload(runtime, load_usable_config(options.config_file, options.flags), log);
  }
  return drain_and_end(runtime, log);
}

}  // namespace

int run_serve(const ServeOptions& options) {
  const sigset_t signals = take_signals();
  raise_descriptor_limit();
  const std::expected<Config, ConfigErrors> config = load_usable_config(options.config_file, options.flags);
  if (config) return serve(*config, options, signals);
  print_errors(config.error());
  return exit_usage;
}

}  // namespace onceward::cli
