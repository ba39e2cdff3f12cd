// What a benchmark of pairs (claim, complete) needs: one worker thread's queue, so many pairs in flight on
// it, and what they cost. Shared by the store's pairs and the bare log's, so that both pay the same here.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "onceward/values.hpp"
#include "support/polling_executor.hpp"

namespace onceward::bench {

using SteadyClock = std::chrono::steady_clock;

using Worker = testing::PollingExecutor;

// Pairs to be done: so many, or until a moment. Sums over several rounds.
struct Job {
  std::uint64_t next_key = 0;
  std::uint64_t pairs_left = 0;
  SteadyClock::time_point until;
  bool counted = false;
  std::size_t in_flight = 0;
  std::uint64_t done = 0;
  double seconds = 0;
  double cpu_seconds = 0;
  std::uint64_t bytes = 0;
  std::uint64_t batches = 0;
  std::vector<float> latencies_us;

  bool more() const { return counted ? pairs_left > 0 : SteadyClock::now() < until; }
  void finished(SteadyClock::time_point started) {
    latencies_us.push_back(std::chrono::duration<float, std::micro>(SteadyClock::now() - started).count());
    ++done;
    --in_flight;
  }
};

inline double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

inline Scope scope_number(std::uint64_t number) {
  Scope scope;  // spread as a hash would be, without paying for one here
  for (std::size_t i = 0; i < 4; ++i) {
    std::uint64_t x = number * 4 + i + 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    x ^= x >> 31;
    std::memcpy(scope.data.data() + 8 * i, &x, 8);
  }
  return scope;
}

template <class Pair>
void drive(Worker& worker, Job& job, std::vector<std::unique_ptr<Pair>>& pairs) {
  const double cpu_before = cpu_seconds();
  const auto started = SteadyClock::now();
  for (auto& pair : pairs) pair->start();
  while (job.in_flight > 0) worker.run_round();
  job.seconds += std::chrono::duration<double>(SteadyClock::now() - started).count();
  job.cpu_seconds += cpu_seconds() - cpu_before;
}

struct Figures {
  double pairs_per_s = 0;
  double cpu_us = 0;
  double p50_us = 0;
  double p99_us = 0;
};

inline Figures figures_of(Job& job) {
  std::sort(job.latencies_us.begin(), job.latencies_us.end());
  const auto done = static_cast<double>(std::max<std::uint64_t>(job.done, 1));
  Figures figures{done / job.seconds, job.cpu_seconds * 1e6 / done, 0, 0};
  if (!job.latencies_us.empty()) {
    figures.p50_us = job.latencies_us[job.latencies_us.size() / 2];
    figures.p99_us = job.latencies_us[job.latencies_us.size() * 99 / 100];
  }
  return figures;
}

inline Figures print(const char* what, std::size_t in_flight, Job& job) {
  const Figures f = figures_of(job);
  const auto done = static_cast<double>(std::max<std::uint64_t>(job.done, 1));
  std::printf("%-6s %4zu in flight  %9.0f pairs/s  %6.2f us cpu/pair  p50 %7.0f us  p99 %7.0f us", what,
              in_flight, f.pairs_per_s, f.cpu_us, f.p50_us, f.p99_us);
  if (job.batches > 0) {
    std::printf("  %6.0f bytes/pair  %5.1f writes/batch", static_cast<double>(job.bytes) / done,
                2 * done / static_cast<double>(job.batches));
  }
  std::printf("\n");
  std::fflush(stdout);
  return f;
}

}  // namespace onceward::bench
