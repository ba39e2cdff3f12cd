#include "simulation/upstream.hpp"

#include <algorithm>

namespace onceward::simulation {

bool Upstream::expects(const OperationId& operation) const {
  const auto found = seen_.find(operation);
  return found != seen_.end() && found->second.on_the_way > 0;
}

void Upstream::send(const Identity& who, const Grant& grant, const std::shared_ptr<Wire>& wire) {
  const Faults& faults = world_.faults;
  if (world_.happens(faults.request_lost)) {
    if (world_.happens(500)) world_.after(world_.chance.ms(1, 500), [wire] { wire->arrive({}); });
    return;
  }
  const bool slow = world_.happens(faults.request_slow);
  ++seen_[grant.operation_id].on_the_way;
  world_.after(slow ? world_.chance.ms(10, 6000) : world_.chance.us(50, 5000),
               [this, who, grant, wire] { arrives(who, grant, wire); });
}

void Upstream::arrives(const Identity& who, const Grant& grant, const std::shared_ptr<Wire>& wire) {
  const Faults& faults = world_.faults;
  Seen& seen = seen_[grant.operation_id];
  --seen.on_the_way;
  std::shared_ptr<const Response> response = process(who, grant, seen);
  if (world_.happens(faults.answer_lost)) return;
  if (world_.happens(faults.reset)) {
    return world_.after(world_.chance.ms(1, 100), [wire] { wire->arrive({}); });
  }
  Arrival arrival{Arrival::Kind::whole, response};
  if (world_.happens(faults.answer_half)) {
    Response half = *response;
    half.body.pop_back();
    arrival = {Arrival::Kind::half, std::make_shared<const Response>(std::move(half))};
  }
  const bool slow = world_.happens(faults.answer_slow);
  world_.after(slow ? world_.chance.ms(10, 6000) : world_.chance.us(50, 5000),
               [wire, arrival] { wire->arrive(arrival); });
}

int Upstream::draw_status() {
  if (!world_.happens(world_.faults.odd_status)) return 201;
  constexpr int odd[] = {200, 404, 422, 500, 503, 503, 429, 502, 504};
  return odd[world_.chance.below(std::size(odd))];
}

std::shared_ptr<const Response> Upstream::process(const Identity& who, const Grant& grant, Seen& seen) {
  if (who.forward && seen.outcome) return seen.outcome;
  const bool fenced = who.forward && grant.epoch < seen.highest;
  seen.highest = std::max(seen.highest, grant.epoch);
  const int status = fenced ? 409 : draw_status();
  // A gateway's 502 or 504 and a crash's 500 say nothing about what happened behind them.
  const bool may_have = status == 500 || (!who.forward && (status == 502 || status == 504));
  const bool effect = status < 300 || (may_have && world_.happens(500));
  auto response =
      std::make_shared<const Response>(Response{static_cast<std::uint16_t>(status), false, "",
                                                who.text() + "answer " + std::to_string(++answers_) + "."});
  if (world_.traced)
    world_.say("upstream " + to_string(grant.operation_id) + " epoch " + std::to_string(grant.epoch) + " " +
               std::to_string(status) + (effect ? " with effect: " : ": ") + response->body);
  if (effect) judge_.took_effect(who, grant.operation_id, grant.epoch, response);
  judge_.answered(grant.operation_id, response);
  static const OutcomeTable outcomes;
  const bool is_outcome = effect || outcomes.of(status) == OutcomeClass::replay;
  if (is_outcome && !fenced) seen.outcome = response;
  return response;
}

}  // namespace onceward::simulation
