#include "cli/commands.hpp"

namespace onceward::cli {

std::vector<Command> all_commands() {
  return {
      check_command(),
      version_command(),
      completion_command(),
  };
}

}  // namespace onceward::cli
