#include "cli/cli.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>

namespace onceward::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

struct Ran {
  int code = -1;
  std::string out;
  std::string err;
};

Ran run(const std::vector<std::string>& arguments, std::vector<Command> commands) {
  std::ostringstream out, err;
  Ran ran;
  ran.code = run_command_line(arguments, std::move(commands), out, err);
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

// A tree with every kind of option; what was parsed is seen through the pointers.
struct Sample {
  bool flag = false;
  std::string file;
  std::vector<std::string> headers;
  std::size_t count = 1;
  std::string shape = "round";
  int runs = 0;

  std::vector<Command> commands() {
    return {{.name = "single",
             .summary = "One command",
             .details = "Examples:\n  onceward single x",
             .options =
                 {{.names = "FILE", .help = "A file", .target = &file, .required = true, .is_file = true},
                  {.names = "--flag,-f", .help = "A flag", .target = &flag},
                  {.names = "--header,-H", .help = "A header", .target = &headers, .value_name = "LINE"},
                  {.names = "--count", .help = "A number", .target = &count, .value_name = "N"},
                  {.names = "--shape", .help = "A word", .target = &shape, .choices = {"round", "square"}}},
             .run = [this] { return ++runs, 0; }},
            {.name = "group",
             .summary = "It's a group",
             .commands = {{.name = "inner", .summary = "Inside", .run = [this] { return ++runs, 7; }}}}};
  }
};

TEST(Cli, ParsesOptionsAndRunsTheCommand) {
  Sample sample;
  const Ran ran =
      run({"single", "-f", "-H", "a", "--header", "b", "x.yaml", "--count=3", "--shape", "square"},
          sample.commands());
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(sample.runs, 1);
  EXPECT_TRUE(sample.flag);
  EXPECT_EQ(sample.file, "x.yaml");
  EXPECT_THAT(sample.headers, ElementsAre("a", "b"));
  EXPECT_EQ(sample.count, 3u);
  EXPECT_EQ(sample.shape, "square");
}

TEST(Cli, ReturnsTheCommandsExitCode) {
  Sample sample;
  EXPECT_EQ(run({"group", "inner"}, sample.commands()).code, 7);
}

struct UsageCase {
  std::vector<std::string> arguments;
  const char* message;
};

class UsageErrors : public testing::TestWithParam<UsageCase> {};

TEST_P(UsageErrors, AreExplainedAndGiveTwo) {
  Sample sample;
  const Ran ran = run(GetParam().arguments, sample.commands());
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr(GetParam().message));
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(sample.runs, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Table, UsageErrors,
    testing::Values(UsageCase{{}, "subcommand is required"},
                    UsageCase{{"singel"}, "unknown command 'singel'; did you mean 'single'?"},
                    UsageCase{{"--nope"}, "--help"}, UsageCase{{"single"}, "FILE is required"},
                    UsageCase{{"single", "x", "y"}, "y"}, UsageCase{{"single", "x", "--wrong"}, "--wrong"},
                    UsageCase{{"single", "x", "--count", "many"}, "many"},
                    UsageCase{{"single", "x", "--shape", "flat"}, "flat"},
                    UsageCase{{"single", "x", "--header"}, "--header"},
                    UsageCase{{"group"}, "subcommand is required"}, UsageCase{{"group", "outer"}, "--help"}));

TEST(Cli, HelpNamesEveryCommandAndShowsExamples) {
  Sample sample;
  const Ran top = run({"--help"}, sample.commands());
  EXPECT_EQ(top.code, 0);
  EXPECT_THAT(top.out, HasSubstr("One command"));
  EXPECT_THAT(top.out, HasSubstr("It's a group"));
  const Ran one = run({"single", "--help"}, sample.commands());
  EXPECT_EQ(one.code, 0);
  EXPECT_THAT(one.out, HasSubstr("--shape"));
  EXPECT_THAT(one.out, HasSubstr("Examples:\n  onceward single x"));
}

TEST(Cli, VersionIsPrinted) {
  const Ran ran = run({"--version"}, {});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "onceward " + version_text() + "\n");
}

TEST(ServeCommand, PassesFlagsOnInTheFormTheConfigWants) {
  ServeOptions seen;
  const auto serve = [&](const ServeOptions& options) { return seen = options, 0; };
  const Ran ran = run({"serve", "--config", "c.yaml", "--upstream", "http://h", "--listen",
                       "127.0.0.1:1,127.0.0.1:2", "--store", "memory", "--cache", "redis://h", "--api", "off",
                       "--json", "--log-level", "error", "--no-access-log"},
                      {serve_command(serve)});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(seen.config_file, "c.yaml");
  EXPECT_THAT(seen.flags,
              ElementsAre(Pair("--upstream", "http://h"), Pair("--listen", "127.0.0.1:1,127.0.0.1:2"),
                          Pair("--store", "memory"), Pair("--cache", "redis://h"), Pair("--api", "off")));
  EXPECT_TRUE(seen.json);
  EXPECT_EQ(seen.log_level, "error");
  EXPECT_FALSE(seen.access_log);
}

TEST(ServeCommand, WithoutFlagsOverridesNothing) {
  ServeOptions seen;
  EXPECT_EQ(run({"serve"}, {serve_command([&](const ServeOptions& o) { return seen = o, 0; })}).code, 0);
  EXPECT_TRUE(seen.flags.empty());
  EXPECT_EQ(seen.config_file, "");
  EXPECT_EQ(seen.log_level, "info");
  EXPECT_TRUE(seen.access_log);
}

TEST(Commands, EachHasASummaryAndSomethingToRun) {
  const auto check = [](const auto& self, const std::vector<Command>& commands) -> void {
    for (const Command& command : commands) {
      EXPECT_FALSE(command.summary.empty()) << command.name;
      EXPECT_NE(static_cast<bool>(command.run), !command.commands.empty()) << command.name;
      self(self, command.commands);
    }
  };
  check(check, all_commands());
}

}  // namespace
}  // namespace onceward::cli
