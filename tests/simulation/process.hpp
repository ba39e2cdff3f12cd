// Process: one engine with its own clocks and its own way to the store. A crash takes everything it
// knew; what it had sent to the store or the upstream goes its way without it.
#pragma once

#include <memory>

#include "engine/engine.hpp"
#include "simulation/port.hpp"
#include "simulation/wire.hpp"

namespace onceward::simulation {

// From one start to one crash.
class Life {
 public:
  Life(World& world, Authority& authority);
  ~Life();
  Life(const Life&) = delete;

  bool is_dead() const { return dead_; }
  std::shared_ptr<Wire> connect();
  // Tasks cannot be cancelled, so the frames of a dead process run out in a time of their own, with the
  // doors to the store, the upstream and the callers closed.
  void die();

  World& world;
  testing::VirtualTime afterlife;
  testing::VirtualClock clock;
  testing::VirtualExecutor executor;
  Chance random;
  Port port;
  Engine engine;
  Runner runner;

 private:
  bool dead_ = false;
  std::vector<std::weak_ptr<Wire>> wires_;
};

class Process {
 public:
  Process(World& world, Authority& authority) : world_(world), authority_(authority) { start(); }

  const std::shared_ptr<Life>& life() const { return life_; }
  void crash();
  void pause(Nanoseconds for_how_long) { life_->runner.paused_until = world_.now() + for_how_long; }
  void check_at_rest();

 private:
  void start() { life_ = std::make_shared<Life>(world_, authority_); }

  World& world_;
  Authority& authority_;
  std::shared_ptr<Life> life_;  // shared with the calls that are under way in it
};

}  // namespace onceward::simulation
