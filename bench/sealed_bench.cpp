// What a new key pays to learn that 75 sealed segments (10 million records) do not hold it: one filter each,
// or the tables that stand for most of them.
#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <vector>

#include "stores/embedded/filter.hpp"
#include "stores/embedded/segment_table.hpp"

namespace onceward::embedded {
namespace {

constexpr std::size_t segments = 75;
constexpr std::size_t in_large = 64;
constexpr std::size_t in_small = 8;
constexpr std::size_t records = 133'000;

struct Sealed75 {
  std::vector<Filter> filters;
  SegmentTable large{in_large * records};
  SegmentTable small{in_small * records};

  Sealed75() {
    std::mt19937_64 random(1);
    for (std::size_t segment = 0; segment < segments; ++segment) {
      filters.emplace_back(records);
      for (std::size_t i = 0; i < records; ++i) {
        const std::uint64_t prefix = random();
        filters.back().add(prefix);
        if (segment < in_large)
          large.add(prefix, segment);
        else if (segment < in_large + in_small)
          small.add(prefix, segment - in_large);
      }
    }
  }
  bool in_filters(std::uint64_t prefix, std::size_t from) const {
    for (std::size_t i = from; i < segments; ++i) filters[i].prefetch(prefix);
    bool found = false;
    for (std::size_t i = from; i < segments; ++i) found |= filters[i].may_contain(prefix);
    return found;
  }
};

const Sealed75& sealed() {
  static const Sealed75 all;
  return all;
}

void miss_in_75_filters(benchmark::State& state) {
  const Sealed75& all = sealed();
  std::mt19937_64 random(2);
  for (auto _ : state) benchmark::DoNotOptimize(all.in_filters(random(), 0));
}
BENCHMARK(miss_in_75_filters);

void miss_in_2_tables_and_3_filters(benchmark::State& state) {
  const Sealed75& all = sealed();
  std::mt19937_64 random(3);
  for (auto _ : state) {
    const std::uint64_t prefix = random();
    all.large.prefetch(prefix);
    all.small.prefetch(prefix);
    benchmark::DoNotOptimize(all.in_filters(prefix, in_large + in_small));
    benchmark::DoNotOptimize(all.large.find(prefix) | all.small.find(prefix));
  }
}
BENCHMARK(miss_in_2_tables_and_3_filters);

}  // namespace
}  // namespace onceward::embedded
