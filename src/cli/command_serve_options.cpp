// The description of `serve`: its options and help. What it does is in command_serve.cpp.
#include <memory>

#include "cli/commands.hpp"

namespace onceward::cli {
namespace {

struct ServeArguments {
  std::string config_file;
  std::optional<std::string> upstream, listen, store, cache, api;
  std::string log_level = "info";
  bool json = false;
  bool no_access_log = false;

  ServeOptions options() const {
    ServeOptions result{.config_file = config_file,
                        .flags = {},
                        .json = json,
                        .log_level = log_level,
                        .access_log = !no_access_log};
    const std::pair<const char*, const std::optional<std::string>*> given[] = {{"--upstream", &upstream},
                                                                               {"--listen", &listen},
                                                                               {"--store", &store},
                                                                               {"--cache", &cache},
                                                                               {"--api", &api}};
    for (const auto& [flag, text] : given) {
      if (*text) result.flags.emplace_back(flag, **text);
    }
    return result;
  }
};

}  // namespace

Command serve_command(std::function<int(const ServeOptions&)> run) {
  auto a = std::make_shared<ServeArguments>();  // shared by the parser and run()
  return {
      .name = "serve",
      .summary = "Run the proxy and its API",
      .details =
          "Settings: flags win over ONCEWARD_<PATH> variables, which win over the file.\n"
          "SIGHUP reloads the file; SIGTERM finishes what is running, then ends.\n\n"
          "Examples:\n"
          "  onceward serve --upstream http://127.0.0.1:9000\n"
          "  onceward serve --config onceward.yaml --listen 0.0.0.0:8080\n"
          "  ONCEWARD_DEFAULTS_TTL=7d onceward serve --config onceward.yaml",
      .options = {{.names = "--config,-c",
                   .help = "The configuration (YAML)",
                   .target = &a->config_file,
                   .value_name = "FILE",
                   .is_file = true},
                  {.names = "--upstream",
                   .help = "Where requests go: http:// or https://",
                   .target = &a->upstream,
                   .value_name = "URL"},
                  {.names = "--listen",
                   .help = "Where requests come in; several with commas",
                   .target = &a->listen,
                   .value_name = "HOST:PORT"},
                  {.names = "--store",
                   .help = "memory, file:DIR, redis://… or postgres://…",
                   .target = &a->store,
                   .value_name = "STORE"},
                  {.names = "--cache",
                   .help = "redis://… in front of a postgres store",
                   .target = &a->cache,
                   .value_name = "URL"},
                  {.names = "--api",
                   .help = "Where the API and metrics are served, or off",
                   .target = &a->api,
                   .value_name = "HOST:PORT"},
                  {.names = "--log-level",
                   .help = "What is logged",
                   .target = &a->log_level,
                   .value_name = "LEVEL",
                   .choices = {"debug", "info", "warning", "error", "off"}},
                  {.names = "--no-access-log", .help = "Do not log requests", .target = &a->no_access_log},
                  {.names = "--json", .help = "Log JSON on a terminal too", .target = &a->json}},
      .run = [a, run = std::move(run)] { return run(a->options()); }};
}

}  // namespace onceward::cli
