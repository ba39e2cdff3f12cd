// Completion scripts for three shells, from the descriptions of the commands.
#include <functional>

#include "cli/commands.hpp"

namespace onceward::cli {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    parts.push_back(text.substr(start, comma - start));
    start = comma + 1;
  }
  return parts;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// Inside single quotes of any shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

using Visit = std::function<void(const std::string& path, const Command&)>;

void walk(const std::vector<Command>& commands, const std::string& parent, const Visit& visit) {
  for (const Command& command : commands) {
    const std::string path = parent.empty() ? command.name : parent + " " + command.name;
    visit(path, command);
    walk(command.commands, path, visit);
  }
}

struct Word {
  std::string text;
  std::string help;
};

// What may follow a command: its subcommands, options and the choices of its positionals.
std::vector<Word> words_after(const std::vector<Command>& commands, const std::vector<Option>& options) {
  std::vector<Word> words;
  for (const Command& command : commands) words.push_back({command.name, command.summary});
  for (const Option& option : options) {
    for (const std::string& choice : option.positional() ? option.choices : split(option.names))
      words.push_back({choice, option.help});
  }
  words.push_back({"--help", "Print help"});
  return words;
}

bool wants_files(const Command& command) {
  for (const Option& option : command.options) {
    if (option.positional() && option.is_file) return true;
  }
  return false;
}

// `case` branches that follow the command line down the tree, in the variable `at`.
std::string path_branches(const std::vector<Command>& commands) {
  std::string out;
  walk(commands, "", [&](const std::string& path, const Command& command) {
    const std::string parent =
        path.size() == command.name.size() ? "" : path.substr(0, path.size() - command.name.size() - 1);
    out += "      '" + parent + " " + command.name + "') at='" + path + "' ;;\n";
  });
  return out;
}

// Branches on "command:previous word" for options that take a value.
std::string value_branches(const std::vector<Command>& commands, const std::string& files,
                           const std::function<std::string(const std::string&)>& choices) {
  std::string out;
  walk(commands, "", [&](const std::string& path, const Command& command) {
    for (const Option& option : command.options) {
      if (option.positional() || !option.takes_value()) continue;
      for (const std::string& name : split(option.names)) {
        out += "    '" + path + ":" + name + "') ";
        out += option.is_file ? files : choices(joined(option.choices));
        out += "; return ;;\n";
      }
    }
  });
  return out;
}

std::string bash_script(const std::vector<Command>& commands) {
  const auto branch = [](const std::string& path, const std::vector<Word>& words, bool files) {
    std::string text;
    for (const Word& word : words) text += (text.empty() ? "" : " ") + word.text;
    return "    '" + path + "') words='" + text + "'" + (files ? " files=1" : "") + " ;;\n";
  };
  std::string out =
      "# bash completion for onceward\n"
      "_onceward() {\n"
      "  local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\" at='' words='' "
      "files='' i\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case \"$at ${COMP_WORDS[i]}\" in\n" +
      path_branches(commands) +
      "    esac\n"
      "  done\n"
      "  case \"$at:$prev\" in\n" +
      value_branches(commands, "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")",
                     [](const std::string& words) {
                       return "mapfile -t COMPREPLY < <(compgen -W '" + words + "' -- \"$cur\")";
                     }) +
      "  esac\n"
      "  case \"$at\" in\n" +
      branch("", words_after(commands, {}), false);
  walk(commands, "", [&](const std::string& path, const Command& command) {
    out += branch(path, words_after(command.commands, command.options), wants_files(command));
  });
  return out +
         "  esac\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\"; [ -n \"$files\" ] && compgen -f -- "
         "\"$cur\")\n"
         "}\n"
         "complete -F _onceward onceward\n";
}

std::string zsh_script(const std::vector<Command>& commands) {
  const auto branch = [](const std::string& path, const std::vector<Word>& words, bool files) {
    std::string text;
    // _describe separates a word from its help by the first colon that is not escaped.
    for (const Word& word : words) text += " " + quoted(word.text + ":" + word.help);
    return "    '" + path + "') items=(" + text + " )" + (files ? " files=1" : "") + " ;;\n";
  };
  std::string out =
      "#compdef onceward\n"
      "_onceward() {\n"
      "  local at='' files='' i\n"
      "  local -a items\n"
      "  for ((i = 2; i < CURRENT; i++)); do\n"
      "    case \"$at ${words[i]}\" in\n" +
      path_branches(commands) +
      "    esac\n"
      "  done\n"
      "  case \"$at:${words[CURRENT-1]}\" in\n" +
      value_branches(
          commands, "_files",
          [](const std::string& words) { return words.empty() ? std::string(":") : "compadd -- " + words; }) +
      "  esac\n"
      "  case \"$at\" in\n" +
      branch("", words_after(commands, {}), false);
  walk(commands, "", [&](const std::string& path, const Command& command) {
    out += branch(path, words_after(command.commands, command.options), wants_files(command));
  });
  return out +
         "  esac\n"
         "  _describe onceward items\n"
         "  [[ -n $files ]] && _files\n"
         "}\n"
         "if [[ $funcstack[1] == _onceward ]]; then _onceward \"$@\"; else compdef _onceward onceward; fi\n";
}

std::string fish_option(const std::string& condition, const Option& option) {
  if (option.positional()) {
    if (option.is_file) return "complete -c onceward -n " + condition + " -F\n";
    if (option.choices.empty()) return {};
    return "complete -c onceward -n " + condition + " -a " + quoted(joined(option.choices)) + " -d " +
           quoted(option.help) + "\n";
  }
  std::string out = "complete -c onceward -n " + condition;
  for (const std::string& name : split(option.names))
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (option.takes_value()) out += option.is_file ? " -r -F" : " -x";
  if (option.takes_value() && !option.choices.empty()) out += " -a " + quoted(joined(option.choices));
  return out + " -d " + quoted(option.help) + "\n";
}

std::string fish_script(const std::vector<Command>& commands) {
  std::string out = "# fish completion for onceward\ncomplete -c onceward -f\n";
  for (const Command& command : commands) {
    out += "complete -c onceward -n __fish_use_subcommand -a " + command.name + " -d " +
           quoted(command.summary) + "\n";
  }
  walk(commands, "", [&](const std::string& path, const Command& command) {
    std::string seen;
    for (std::size_t start = 0; start <= path.size();) {
      const std::size_t space = std::min(path.find(' ', start), path.size());
      seen += (seen.empty() ? "" : "; and ") +
              ("__fish_seen_subcommand_from " + path.substr(start, space - start));
      start = space + 1;
    }
    std::vector<std::string> below;
    for (const Command& sub : command.commands) below.push_back(sub.name);
    for (const Command& sub : command.commands) {
      out += "complete -c onceward -n " +
             quoted(seen + "; and not __fish_seen_subcommand_from " + joined(below)) + " -a " + sub.name +
             " -d " + quoted(sub.summary) + "\n";
    }
    for (const Option& option : command.options) out += fish_option(quoted(seen), option);
  });
  return out;
}

}  // namespace

std::string completion_script(const std::vector<Command>& commands, std::string_view shell) {
  if (shell == "zsh") return zsh_script(commands);
  if (shell == "fish") return fish_script(commands);
  return bash_script(commands);
}

}  // namespace onceward::cli
