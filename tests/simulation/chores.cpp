// What happens to a scenario's world about once a second: processes crash, pause and have their clocks
// set; the store crashes and damages records; operators resolve and purge.
#include "simulation/scenario.hpp"

namespace onceward::simulation {

void Scenario::chores() {
  if (world_.now() >= chores_end_) return;
  const Faults& faults = world_.faults;
  Chance& chance = world_.chance;
  for (const auto& process : processes_) {
    if (world_.happens(faults.pause)) process->pause(chance.ms(10, 5000));
    if (world_.happens(faults.wall_jump))
      process->life()->clock.jump_wall(Duration(chance.between(-10'000, 10'000)));
    if (world_.happens(faults.crash)) process->crash();
  }
  chores_of_store();
  world_.after(chance.ms(100, 900), [this] { chores(); });
}

void Scenario::chores_of_store() {
  const Faults& faults = world_.faults;
  Chance& chance = world_.chance;
  if (world_.happens(faults.store_crash)) authority_.crash(chance.ms(1, 3000));
  if (world_.happens(faults.unreadable)) {
    const std::vector<Scope> scopes = authority_.scopes();
    if (!scopes.empty()) authority_.damage(scopes[chance.below(scopes.size())], chance.ms(100, 3000));
  }
  if (world_.happens(faults.operator_resolves)) resolve_one();
  if (chance.in_1000(300)) authority_.purge(false, "");
  if (world_.happens(faults.operator_purges))
    authority_.purge(true, "tenant" + std::to_string(chance.below(2)));
}

void Scenario::resolve_one() {
  const std::vector<Record> unknown = authority_.list(State::unknown);
  if (!unknown.empty()) resolve(unknown[world_.chance.below(unknown.size())]);
}

// An honest operator: looks into the upstream's books, and decides only when nothing can still arrive.
void Scenario::resolve(const Record& unknown) {
  if (upstream_.expects(unknown.operation_id)) return;
  const std::shared_ptr<const Response> effect = judge_.effect_of(unknown.operation_id);
  const ResolveRequest request{unknown.scope, unknown.operation_id, unknown.epoch,
                               effect ? State::succeeded : State::released, effect};
  (void)authority_.apply(unknown.scope, request);
}

}  // namespace onceward::simulation
