// What the commands that run until they are told to stop have in common: signals, which the main thread
// alone takes, the configuration they begin with, and how they end.
#pragma once

#include <signal.h>

#include <cstdlib>
#include <expected>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/notify.hpp"
#include "onceward/result.hpp"
#include "ops/log.hpp"

namespace onceward::cli {

LogLevel log_level(const std::string& word);

// SIGTERM, SIGINT and SIGHUP, blocked in this thread and in all that it starts from now on.
sigset_t take_signals();

// The file with the flags over it, or what is wrong with it; what this build cannot do is wrong too.
std::expected<Config, ConfigErrors> load_usable_config(const std::string& file,
                                                       const std::vector<NamedValue>& flags);
void print_errors(const ConfigErrors& errors);

// Says why a runtime did not start, and with what the program ends.
int tell_start_failure(const Error& error, Log& log);

// Of a configuration that cannot be used nothing is taken.
template <typename Runtime>
void reload(Runtime& runtime, const std::expected<Config, ConfigErrors>& config, Log& log) {
  notify_service_manager("RELOADING=1");
  ConfigErrors wrong;
  if (!config) {
    wrong = config.error();
  } else if (const Result<std::vector<std::string>> kept = runtime.reload(*config); !kept) {
    wrong.messages.push_back(kept.error().message);
  } else {
    for (const std::string& key : *kept) log.warning("needs a restart to change", {{"key", key}});
    log.info("reloaded");
  }
  for (const std::string& message : wrong.messages) log.error("reload refused", {{"reason", message}});
  if (!wrong.messages.empty()) log.error("the old rules stay in force");
  notify_service_manager("READY=1");
}

template <typename Runtime>
int drain_and_end(Runtime& runtime, Log& log) {
  log.info("draining");
  notify_service_manager("STOPPING=1");
  runtime.drain();
  log.info("stopped");
  if (runtime.is_quiet()) return exit_done;
  // Somebody still listens for a late answer, or retries a write. Their records say unknown, which stays
  // true; nothing is gained by waiting, and frames that are suspended cannot be destroyed.
  log.flush();
  std::_Exit(exit_done);
}

}  // namespace onceward::cli
