// The only file that knows the command-line library.
#include "cli/cli.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

#include "config/config_spelling.hpp"

namespace onceward::cli {
namespace {

CLI::Option* add_to(CLI::App& app, const Option& option) {
  return std::visit(
      [&]<class T>(T* target) -> CLI::Option* {
        if constexpr (std::is_same_v<T, bool>) {
          return app.add_flag(option.names, *target, option.help);
        } else if constexpr (std::is_same_v<T, std::optional<std::string>>) {
          return app.add_option_function<std::string>(
              option.names, [target](const std::string& text) { *target = text; }, option.help);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          CLI::Option* added = app.add_option(option.names, *target, option.help);
          // `-H a -H b URL`: each option takes one value, so that it does not swallow what follows.
          if (!option.positional()) added->allow_extra_args(false);
          return added;
        } else {
          return app.add_option(option.names, *target, option.help);
        }
      },
      option.target);
}

void add_option(CLI::App& app, const Option& option) {
  CLI::Option* added = add_to(app, option);
  if (option.required) added->required();
  if (option.takes_value()) added->type_name(option.value_name.empty() ? " " : option.value_name);
  if (!option.choices.empty()) added->check(CLI::IsMember(option.choices));
}

void add_command(CLI::App& parent, const Command& command, const Command*& chosen) {
  CLI::App* app = parent.add_subcommand(command.name, command.summary);
  app->footer(command.details.empty() ? "" : "\n" + command.details);
  for (const Option& option : command.options) add_option(*app, option);
  for (const Command& inner : command.commands) add_command(*app, inner, chosen);
  if (command.commands.empty()) {
    app->callback([&command, &chosen] { chosen = &command; });
  } else {
    app->require_subcommand(1);
  }
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments, std::vector<Command> commands,
                     std::ostream& out, std::ostream& err) {
  CLI::App app("Onceward makes side-effecting HTTP requests safe to retry.", "onceward");
  app.set_version_flag("--version", "onceward " + version_text(), "Print the version");
  app.require_subcommand(1);
  app.footer(
      "\nExit codes: 0 done, 1 failed, 2 usage or configuration.\n"
      "`onceward COMMAND --help` explains one command.");
  if (!arguments.empty() && !arguments[0].starts_with('-') &&
      std::ranges::find(commands, arguments[0], &Command::name) == commands.end()) {
    std::vector<std::string_view> names;
    for (const Command& command : commands) names.push_back(command.name);
    err << "unknown command '" << arguments[0] << "'" << did_you_mean(arguments[0], names)
        << "\nRun with --help for more information.\n";
    return exit_usage;
  }
  const Command* chosen = nullptr;
  for (const Command& command : commands) add_command(app, command, chosen);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as the library wants them
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    return app.exit(error, out, err) == 0 ? exit_done : exit_usage;
  }
  return chosen->run();
}

}  // namespace onceward::cli
