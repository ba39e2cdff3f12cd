// onceward check F: validates a configuration and prints the effective one.
#include <cstdio>
#include <memory>

#include "cli/commands.hpp"
#include "cli/consume_runtime.hpp"
#include "factory/open_store.hpp"

namespace onceward::cli {
namespace {

struct CheckOptions {
  std::string file;
  bool json = false;
};

int run_check(const CheckOptions& options) {
  const auto config = load_config_file(options.file, {});
  if (!config) {
    for (const std::string& message : config.error().messages) std::fprintf(stderr, "%s\n", message.c_str());
    return exit_usage;
  }
  if (const Result<Done> store = check_store(*config); !store) {
    std::fprintf(stderr, "%s: store: %s\n", options.file.c_str(), store.error().message.c_str());
    return exit_usage;
  }
  if (const Result<Done> consumers = check_consumers(*config); !consumers) {
    std::fprintf(stderr, "%s: %s\n", options.file.c_str(), consumers.error().message.c_str());
    return exit_usage;
  }
  // A setting that this build cannot honour is worth a word, but the file is not wrong.
  for (const std::string& feature : unsupported_features(*config))
    std::fprintf(stderr, "%s: warning: %s\n", options.file.c_str(), feature.c_str());
  const std::string text = options.json ? effective_json(*config) + "\n" : effective_yaml(*config);
  std::fputs(text.c_str(), stdout);
  return std::fflush(stdout) == 0 ? exit_done : exit_failed;
}

}  // namespace

Command check_command() {
  // Shared by the parser, which fills it in, and by run(), which reads it.
  auto options = std::make_shared<CheckOptions>();
  return {.name = "check",
          .summary = "Validate a configuration and print the effective one",
          .details =
              "Every mistake is reported as FILE:LINE:COLUMN: message, with exit code 2.\n"
              "ONCEWARD_<PATH> variables of the environment are applied, as `serve` would.\n\n"
              "Examples:\n"
              "  onceward check onceward.yaml\n"
              "  onceward check --json onceward.yaml | jq .defaults.ttl",
          .options = {{.names = "FILE",
                       .help = "The configuration",
                       .target = &options->file,
                       .required = true,
                       .is_file = true},
                      {.names = "--json", .help = "Print JSON instead of YAML", .target = &options->json}},
          .run = [options] { return run_check(*options); }};
}

}  // namespace onceward::cli
