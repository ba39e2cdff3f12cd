#include <iostream>

#include "cli/cli.hpp"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  return onceward::cli::run_command_line(arguments, onceward::cli::all_commands(), std::cout, std::cerr);
}
