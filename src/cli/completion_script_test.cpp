#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>

#include "cli/commands.hpp"

namespace onceward::cli {
namespace {

using testing::HasSubstr;

std::vector<Command> sample() {
  static std::string text;
  static bool flag;
  return {
      {.name = "serve",
       .summary = "Run it",
       .options = {{.names = "--config,-c", .help = "A file", .target = &text, .is_file = true},
                   {.names = "--level", .help = "How much", .target = &text, .choices = {"low", "high"}},
                   {.names = "--json", .help = "The caller's choice", .target = &flag}}},
      {.name = "completion",
       .summary = "Print",
       .options = {{.names = "SHELL", .help = "Which", .target = &text, .choices = {"bash", "zsh"}}}},
      {.name = "store", .summary = "Look inside", .commands = {{.name = "verify", .summary = "Check it"}}}};
}

// What bash offers for the last of `words`, in order, separated by spaces.
std::string bash_completes(const std::string& words, int count) {
  std::string command = "bash -c '";
  std::string script = completion_script(sample(), "bash") + "\nCOMP_WORDS=(" + words +
                       ")\nCOMP_CWORD=" + std::to_string(count - 1) +
                       "\n_onceward\necho \"${COMPREPLY[*]}\"\n";
  for (char c : script) command += c == '\'' ? std::string("'\\''") : std::string(1, c);
  command += "'";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string output;
  char buffer[256];
  while (pipe && std::fgets(buffer, sizeof buffer, pipe.get()) != nullptr) output += buffer;
  if (output.ends_with('\n')) output.pop_back();
  return output;
}

TEST(BashCompletion, OffersWhatMayFollow) {
  EXPECT_EQ(bash_completes("onceward ''", 2), "serve completion store --help");
  EXPECT_EQ(bash_completes("onceward s", 2), "serve store");
  EXPECT_EQ(bash_completes("onceward serve --", 3), "--config --level --json --help");
  EXPECT_EQ(bash_completes("onceward serve --level ''", 4), "low high");
  EXPECT_EQ(bash_completes("onceward serve --json --l", 4), "--level");
  EXPECT_EQ(bash_completes("onceward completion z", 3), "zsh");
  EXPECT_EQ(bash_completes("onceward store ''", 3), "verify --help");
  EXPECT_EQ(bash_completes("onceward serve -c /proc/self/mountinf", 4), "/proc/self/mountinfo");
}

TEST(ZshCompletion, DescribesEveryWord) {
  const std::string script = completion_script(sample(), "zsh");
  EXPECT_TRUE(script.starts_with("#compdef onceward\n"));
  EXPECT_THAT(
      script,
      HasSubstr("'') items=( 'serve:Run it' 'completion:Print' 'store:Look inside' '--help:Print help' )"));
  EXPECT_THAT(script, HasSubstr("'serve:--config') _files; return"));
  EXPECT_THAT(script, HasSubstr("'serve:--level') compadd -- low high; return"));
  EXPECT_THAT(script, HasSubstr("'--json:The caller'\\''s choice'"));
  EXPECT_THAT(script, HasSubstr("'store verify') items=("));
}

TEST(FishCompletion, DescribesEveryWord) {
  const std::string script = completion_script(sample(), "fish");
  EXPECT_THAT(script, HasSubstr("complete -c onceward -n __fish_use_subcommand -a serve -d 'Run it'\n"));
  EXPECT_THAT(script, HasSubstr("-n '__fish_seen_subcommand_from serve' -l config -s c -r -F -d 'A file'\n"));
  EXPECT_THAT(script, HasSubstr("-l level -x -a 'low high' -d 'How much'\n"));
  EXPECT_THAT(script, HasSubstr("-n '__fish_seen_subcommand_from completion' -a 'bash zsh' -d 'Which'\n"));
  EXPECT_THAT(
      script,
      HasSubstr(
          "-n '__fish_seen_subcommand_from store; and not __fish_seen_subcommand_from verify' -a verify"));
}

TEST(Completion, CoversEveryCommandOfTheProgram) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = completion_script(all_commands(), shell);
    for (const Command& command : all_commands()) EXPECT_THAT(script, HasSubstr(command.name)) << shell;
  }
}

}  // namespace
}  // namespace onceward::cli
