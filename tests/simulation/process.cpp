#include "simulation/process.hpp"

#include <algorithm>

namespace onceward::simulation {
namespace {

testing::VirtualClock skewed_clock(World& world) {
  testing::VirtualClock clock(world.time, world.chance.ms(0, 1'000'000),
                              Duration(world.chance.between(-100'000, 100'000)));
  clock.mono_follows_wall = world.is(Mutant::wall_clock_lease);
  return clock;
}

}  // namespace

Life::Life(World& w, Authority& authority)
    : world(w),
      clock(skewed_clock(w)),
      executor(clock),
      random(w.chance.next()),
      port(w, authority),
      engine(port, clock, random),
      runner{&clock, &executor, {}} {
  world.runners.push_back(&runner);
}

Life::~Life() { die(); }

std::shared_ptr<Wire> Life::connect() {
  std::erase_if(wires_, [](const auto& wire) { return wire.expired(); });
  auto wire = std::make_shared<Wire>(executor);
  wires_.push_back(wire);
  return wire;
}

void Life::die() {
  if (dead_) return;
  dead_ = true;
  std::erase(world.runners, &runner);
  afterlife = world.time;
  clock.follow(afterlife);
  port.die();
  for (const auto& wire : wires_)
    if (const auto open = wire.lock()) open->arrive({});
  for (int steps = 0; executor.next_at(); ++steps) {
    ONCEWARD_ASSERT(steps < 1'000'000);
    if (executor.step()) continue;
    afterlife.now += *executor.next_at() - clock.mono();
  }
  ONCEWARD_ASSERT(engine.flights() == 0);
  ONCEWARD_ASSERT(engine.executions() == 0);
}

void Process::crash() {
  if (world_.traced) world_.say("a process crashes");
  life_->die();
  start();
}

void Process::check_at_rest() {
  if (life_->engine.flights() != 0) world_.violate("liveness: a flight never ended");
  if (life_->engine.executions() != 0) world_.violate("liveness: an execution never ended");
}

}  // namespace onceward::simulation
