// onceward version: which build this is.
#include <cstdio>
#include <memory>

#include "cli/commands.hpp"

namespace onceward::cli {
namespace {

#ifdef ONCEWARD_FAILPOINTS
constexpr bool failpoints = true;
#else
constexpr bool failpoints = false;
#endif

int run_version(bool json) {
  const std::string version = version_text();
  if (json) {
    std::printf("{\"name\":\"onceward\",\"version\":\"%s\",\"failpoints\":%s}\n", version.c_str(),
                failpoints ? "true" : "false");
  } else {
    std::printf("onceward %s%s\n", version.c_str(), failpoints ? " (test build with failpoints)" : "");
  }
  return std::fflush(stdout) == 0 ? exit_done : exit_failed;
}

}  // namespace

std::string version_text() { return ONCEWARD_VERSION; }

Command version_command() {
  auto json = std::make_shared<bool>(false);  // shared by the parser and run()
  return {.name = "version",
          .summary = "Print the version",
          .options = {{.names = "--json", .help = "Print JSON", .target = json.get()}},
          .run = [json] { return run_version(*json); }};
}

}  // namespace onceward::cli
