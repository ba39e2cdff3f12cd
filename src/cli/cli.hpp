// Cli: turns arguments into the run of one command. Usage errors are explained on stderr and give 2.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "cli/commands.hpp"

namespace onceward::cli {

// `arguments` without the program's name. Help goes to `out`, errors to `err`.
int run_command_line(const std::vector<std::string>& arguments, std::vector<Command> commands,
                     std::ostream& out, std::ostream& err);

}  // namespace onceward::cli
