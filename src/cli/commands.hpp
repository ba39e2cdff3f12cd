// The commands of the program as plain descriptions, from which the parser, the help and the shell
// completions are made. A new command is one file command_<name>.cpp and one line in commands.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/config.hpp"

namespace onceward::cli {

using namespace config;

// One option or positional argument. `target` points into state that Command::run keeps alive.
struct Option {
  std::string names;  // "--config,-c", or "FILE" for a positional
  std::string help;
  std::variant<bool*, std::string*, std::optional<std::string>*, std::vector<std::string>*, std::size_t*>
      target;
  std::string value_name = {};            // shown in help: FILE, URL
  std::vector<std::string> choices = {};  // empty: anything
  bool required = false;
  bool is_file = false;  // completions offer files

  bool positional() const { return !names.starts_with('-'); }
  bool takes_value() const { return !std::holds_alternative<bool*>(target); }
};

struct Command {
  std::string name;
  std::string summary;
  std::string details = {};  // further help: examples
  std::vector<Option> options = {};
  std::vector<Command> commands = {};  // subcommands: one of them must be given
  std::function<int()> run = {};       // returns the exit code; empty when there are subcommands
};

inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2;

struct ServeOptions {
  std::string config_file;         // empty: none given
  std::vector<NamedValue> flags;   // for load_config_file()
  bool json = false;               // logs as JSON on a terminal too
  std::string log_level = "info";  // debug | info | warning | error | off
  bool access_log = true;
};

int run_serve(const ServeOptions& options);
// The description of `serve`, apart from what it does.
Command serve_command(std::function<int(const ServeOptions&)> run);

Command check_command();
Command demo_command();
Command records_command();
Command outbox_command();
Command call_command();
Command consume_command();
Command verify_command();
Command bench_command();
Command store_command();
Command store_copy_command();  // of `store`
Command version_command();
Command completion_command();

std::string version_text();  // 0.1.0

// The completion script of `shell` (bash, zsh or fish) for these commands.
std::string completion_script(const std::vector<Command>& commands, std::string_view shell);

// Every command of this build, in the order of the help.
std::vector<Command> all_commands();

}  // namespace onceward::cli
