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

std::expected<Config, ConfigErrors> load_usable_config(const std::string& file,
                                                       const std::vector<NamedValue>& flags) {
  std::expected<Config, ConfigErrors> config = load_config_file(file, flags);
  if (!config) return config;
  std::vector<std::string> missing = unsupported_features(*config);
  if (missing.empty()) return config;
  for (std::string& sentence : missing) sentence.insert(0, "onceward: ");
  return std::unexpected(ConfigErrors{std::move(missing)});
}

void print_errors(const ConfigErrors& errors) {
  for (const std::string& message : errors.messages) std::cerr << message << '\n';
}

int tell_start_failure(const Error& error, Log& log) {
  log.flush();
  std::cerr << "onceward: " << error.message << '\n';
  return error.code == Errc::invalid ? exit_usage : exit_failed;
}

}  // namespace onceward::cli
