// World: one virtual time, one queue of events, one source of chance, one thread. Everything that
// happens in a simulation happens because step() took it from here, so a seed replays exactly.
#pragma once

#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "simulation/faults.hpp"
#include "support/virtual_executor.hpp"

namespace onceward::simulation {

using Nanoseconds = std::chrono::nanoseconds;

// Something with an executor of its own: a process.
struct Runner {
  testing::VirtualClock* clock = nullptr;
  testing::VirtualExecutor* executor = nullptr;
  Nanoseconds paused_until{};
};

class World {
 public:
  World(std::uint64_t seed, Mutant wrong, bool is_traced)
      : chance(seed), faults(draw_faults(chance)), mutant(wrong), traced(is_traced) {}

  Nanoseconds now() const { return time.now; }
  void after(Nanoseconds delay, std::function<void()> what) {
    events_.push({time.now + delay, next_++, std::move(what)});
  }
  // Runs until `end`, or until nothing is left to do.
  void run(Nanoseconds end, int events_max = 500'000);

  bool happens(int share) { return share > 0 && chance.in_1000(share); }
  bool is(Mutant wrong) const { return mutant == wrong; }
  // The first broken rule is what a seed is remembered for.
  void violate(const std::string& rule) {
    if (broken.empty()) broken = rule;
    if (traced) say("BROKEN " + rule);
  }
  void say(const std::string& what) const;

  testing::VirtualTime time;
  Chance chance;
  Faults faults;
  const Mutant mutant;
  const bool traced;
  std::string broken;
  std::vector<Runner*> runners;

 private:
  struct Event {
    Nanoseconds at;
    std::uint64_t order;
    std::function<void()> what;
    bool operator<(const Event& other) const {  // the earliest on top
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  Nanoseconds next_of(const Runner& runner) const;

  std::priority_queue<Event> events_;
  std::uint64_t next_ = 0;
};

}  // namespace onceward::simulation
