#include "library/finish.hpp"

#include "core/outcome_events.hpp"

namespace onceward::api {
namespace {

// What a record's status says about a command that knows no HTTP: below 400 is a success.
constexpr std::uint16_t status_succeeded = 200;
constexpr std::uint16_t status_failed = 500;

onceward::Effect for_engine(const Effect& effect, const Keeping& keeping) {
  if (effect.kind == Effect::Kind::unknown) return NoAnswer{{.cause = UnknownCause::declared}};
  auto response = std::make_shared<const Response>(kept_response(effect, keeping.max_response));
  const bool released = effect.kind == Effect::Kind::released;
  Answer answer{std::move(response), released ? OutcomeClass::retry : OutcomeClass::replay, effect.ttl,
                kept_result(effect)};
  // The effect has happened: an event that cannot be kept is no reason to lose its outcome as well.
  if (!effect.events.empty() && events_refusal(effect, keeping.events).empty())
    answer.emitted = std::make_shared<const std::vector<Emission>>(effect.events);
  return answer;
}

}  // namespace

std::shared_ptr<const OperationResult> kept_result(const Effect& effect) {
  if (effect.result == OperationResult{}) return nullptr;
  return std::make_shared<const OperationResult>(effect.result);
}

Response kept_response(const Effect& effect, std::size_t max_response) {
  Response response;
  response.status = effect.kind == Effect::Kind::succeeded ? status_succeeded : status_failed;
  response.body_omitted = effect.value.size() > max_response;
  if (!response.body_omitted) response.body = effect.value;
  return response;
}

std::string events_refusal(const Effect& effect, bool store_keeps_events) {
  if (effect.events.empty()) return {};
  if (!store_keeps_events) return "this store keeps no events";
  for (const Emission& emission : effect.events) {
    if (!is_event_type(emission.type))
      return "an event's type is 1 to 200 visible ASCII characters: '" + emission.type + "'";
  }
  return {};
}

void Finish::State::finish(Effect effect) {
  if (finished_.exchange(true)) return;
  onceward::Effect kept = for_engine(effect, keeping_);
  *given_ = std::move(effect);
  delivery_->give(std::move(kept));
}

void Finish::operator()(Effect effect) const { state_->finish(std::move(effect)); }

}  // namespace onceward::api
