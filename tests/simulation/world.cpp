#include "simulation/world.hpp"

#include <cstdio>

namespace onceward::simulation {
namespace {

constexpr Nanoseconds never = Nanoseconds::max();

}  // namespace

Nanoseconds World::next_of(const Runner& runner) const {
  const std::optional<MonoTime> next = runner.executor->next_at();
  if (!next) return never;
  return std::max({time.now, runner.clock->true_time_of(*next), runner.paused_until});
}

void World::run(Nanoseconds end, int events_max) {
  for (int count = 0; broken.empty(); ++count) {
    if (count == events_max) return violate("liveness: the world never comes to rest");
    Nanoseconds at = events_.empty() ? never : events_.top().at;
    Runner* chosen = nullptr;
    for (Runner* runner : runners) {
      const Nanoseconds theirs = next_of(*runner);
      if (theirs < at) {
        at = theirs;
        chosen = runner;
      }
    }
    if (at == never || at > end) return;
    time.now = std::max(time.now, at);
    if (chosen) {
      chosen->executor->step();
      continue;
    }
    const std::function<void()> what = std::move(const_cast<Event&>(events_.top()).what);
    events_.pop();
    what();
  }
}

void World::say(const std::string& what) const {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(time.now - std::chrono::hours(1));
  std::fprintf(stderr, "%10.3f ms  %s\n", static_cast<double>(us.count()) / 1000.0, what.c_str());
}

}  // namespace onceward::simulation
