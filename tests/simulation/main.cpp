// onceward_simulation [--seed N] [--seeds COUNT] [--trace] [--mutant NAME] [--mutants]
// Runs worlds, each from its seed alone. A seed that breaks a rule is printed with the command that
// replays it. --mutants checks the judge: every world that is wrong on purpose must be noticed.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "simulation/scenario.hpp"

namespace onceward::simulation {
namespace {

constexpr std::uint64_t default_seeds = 50'000;

struct Options {
  std::uint64_t first = 1;
  std::uint64_t count = 0;  // 0: one if a seed was named, else the default
  bool traced = false;
  bool all_mutants = false;
  Mutant mutant = Mutant::none;
};

std::string_view name_of(Mutant mutant) { return mutant_names[static_cast<std::size_t>(mutant)]; }

std::optional<Mutant> mutant_of(std::string_view name) {
  for (std::size_t i = 0; i < mutant_names.size(); ++i)
    if (mutant_names[i] == name) return static_cast<Mutant>(i);
  return std::nullopt;
}

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  bool named = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const bool has_value = i + 1 < argc;
    if (flag == "--trace") {
      options.traced = true;
    } else if (flag == "--mutants") {
      options.all_mutants = true;
    } else if (flag == "--seed" && has_value) {
      options.first = std::strtoull(argv[++i], nullptr, 10);
      named = true;
    } else if (flag == "--seeds" && has_value) {
      options.count = std::strtoull(argv[++i], nullptr, 10);
    } else if (const auto mutant = has_value ? mutant_of(argv[i + 1]) : std::nullopt;
               flag == "--mutant" && mutant) {
      options.mutant = *mutant;
      ++i;
    } else {
      return std::nullopt;
    }
  }
  if (options.count == 0) options.count = named ? 1 : default_seeds;
  return options;
}

struct Finding {
  std::uint64_t seed = 0;
  std::string rule;
};

std::optional<Finding> first_finding(const Options& options, Mutant mutant) {
  for (std::uint64_t seed = options.first; seed < options.first + options.count; ++seed) {
    Scenario scenario(seed, mutant, options.traced);
    std::string rule = scenario.run();
    if (!rule.empty()) return Finding{seed, std::move(rule)};
  }
  return std::nullopt;
}

int run_seeds(const Options& options) {
  const auto found = first_finding(options, options.mutant);
  if (!found) {
    std::printf("%llu seeds from %llu: every rule held\n", static_cast<unsigned long long>(options.count),
                static_cast<unsigned long long>(options.first));
    return 0;
  }
  std::printf("seed %llu broke: %s\nreplay: onceward_simulation --seed %llu --trace --mutant %s\n",
              static_cast<unsigned long long>(found->seed), found->rule.c_str(),
              static_cast<unsigned long long>(found->seed), name_of(options.mutant).data());
  return 1;
}

int run_mutants(const Options& options) {
  int missed = 0;
  for (std::size_t i = 1; i < mutant_names.size(); ++i) {
    const auto found = first_finding(options, static_cast<Mutant>(i));
    if (found) {
      std::printf("%-36s caught after %5llu seeds: %s\n", mutant_names[i].data(),
                  static_cast<unsigned long long>(found->seed - options.first + 1), found->rule.c_str());
    } else {
      std::printf("%-36s MISSED\n", mutant_names[i].data());
      ++missed;
    }
  }
  return missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace onceward::simulation

int main(int argc, char** argv) {
  using namespace onceward::simulation;
  const auto options = parse(argc, argv);
  if (!options) {
    std::fprintf(
        stderr,
        "usage: onceward_simulation [--seed N] [--seeds COUNT] [--trace] [--mutant NAME] [--mutants]\n");
    return 2;
  }
  return options->all_mutants ? run_mutants(*options) : run_seeds(*options);
}
