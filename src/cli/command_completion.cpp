// onceward completion SHELL: prints a script that completes commands, options and their values. It is
// made from the descriptions of the commands, so it cannot fall behind them.
#include <cstdio>
#include <memory>

#include "cli/commands.hpp"

namespace onceward::cli {

Command completion_command() {
  auto shell = std::make_shared<std::string>();  // shared by the parser and run()
  return {.name = "completion",
          .summary = "Print a shell's completion script",
          .details =
              "Examples:\n"
              "  source <(onceward completion bash)\n"
              "  onceward completion zsh > \"${fpath[1]}/_onceward\"\n"
              "  onceward completion fish > ~/.config/fish/completions/onceward.fish",
          .options = {{.names = "SHELL",
                       .help = "bash, zsh or fish",
                       .target = shell.get(),
                       .choices = {"bash", "zsh", "fish"},
                       .required = true}},
          .run = [shell] {
            std::fputs(completion_script(all_commands(), *shell).c_str(), stdout);
            return std::fflush(stdout) == 0 ? exit_done : exit_failed;
          }};
}

}  // namespace onceward::cli
