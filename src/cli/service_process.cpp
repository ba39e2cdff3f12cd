#include "cli/service_process.hpp"

#include <iostream>

namespace onceward::cli {

LogLevel log_level(const std::string& word) {
  if (word == "debug") return LogLevel::debug;
  if (word == "warning") return LogLevel::warning;
  if (word == "error") return LogLevel::error;
  if (word == "off") return LogLevel::off;
  return LogLevel::info;
}

sigset_t take_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return signals;
}

std::optional<Config> load_usable_config(const std::string& file, const std::vector<NamedValue>& flags) {
  std::expected<Config, ConfigErrors> config = load_config_file(file, flags);
  if (!config) {
    for (const std::string& message : config.error().messages) std::cerr << message << '\n';
    return std::nullopt;
  }
  const std::vector<std::string> missing = unsupported_features(*config);
  for (const std::string& sentence : missing) std::cerr << "onceward: " << sentence << '\n';
  if (!missing.empty()) return std::nullopt;
  return std::move(*config);
}

int tell_start_failure(const Error& error, Log& log) {
  log.flush();
  std::cerr << "onceward: " << error.message << '\n';
  return error.code == Errc::invalid ? exit_usage : exit_failed;
}

}  // namespace onceward::cli
