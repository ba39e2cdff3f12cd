// Scenario: one seed's world from first request to last check. Callers retry, duplicate, differ and
// leave; chores crash, pause, damage, resolve and purge; then everything heals and service must be back.
#pragma once

#include <memory>
#include <string>

#include "simulation/courier.hpp"

namespace onceward::simulation {

class Scenario {
 public:
  Scenario(std::uint64_t seed, Mutant mutant, bool traced);
  ~Scenario();

  // Empty, or the rule that was broken.
  std::string run();

 private:
  class Session;
  struct Intent {
    Identity who;
    int attempts = 1;
  };

  Intent draw_intent();
  void begin_traffic();
  void ask(Intent intent, bool last_round);
  void heard(const Intent& intent, const Outcome& outcome);
  Command command_for(const Identity& who);
  bool states_a_fact(const Identity& who) const { return keep_ && !who.forward; }

  void chores();
  void chores_of_store();
  void resolve_one();
  void resolve(const Record& unknown);
  void last_round();
  void check_at_rest();

  World world_;
  testing::VirtualClock store_clock_;
  Judge judge_;
  Authority authority_;
  Upstream upstream_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::shared_ptr<Session>> sessions_;
  std::shared_ptr<const Policy> hold_;
  std::shared_ptr<const Policy> forward_;
  Duration timeout_{};
  std::optional<Duration> keep_;  // in a few worlds two keys of a tenant state one fact, kept so long
  Nanoseconds chores_end_{};
  std::uint64_t calls_ = 0;
  bool healed_ = false;
};

}  // namespace onceward::simulation
