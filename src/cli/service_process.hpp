// What the commands that run until they are told to stop have in common: signals, which the main thread
// alone takes, the configuration they begin with, and how they end.
#pragma once

#include <signal.h>

#include <cstdlib>
#include <optional>
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

// The file with the flags over it; nothing when it cannot be used, and standard error says why.
std::optional<Config> load_usable_config(const std::string& file, const std::vector<NamedValue>& flags);

// Says why a runtime did not start, and with what the program ends.
int tell_start_failure(const Error& error, Log& log);

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
