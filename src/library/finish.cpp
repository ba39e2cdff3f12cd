#include "library/finish.hpp"

namespace onceward::api {
namespace {

// What a record's status says about a command that knows no HTTP: below 400 is a success.
constexpr std::uint16_t status_succeeded = 200;
constexpr std::uint16_t status_failed = 500;

onceward::Effect for_engine(const Effect& effect, std::size_t max_response) {
  if (effect.kind == Effect::Kind::unknown) return NoAnswer{{.cause = UnknownCause::declared}};
  auto response = std::make_shared<const Response>(kept_response(effect, max_response));
  const bool released = effect.kind == Effect::Kind::released;
  return Answer{std::move(response), released ? OutcomeClass::retry : OutcomeClass::replay, effect.ttl};
}

}  // namespace

Response kept_response(const Effect& effect, std::size_t max_response) {
  Response response;
  response.status = effect.kind == Effect::Kind::succeeded ? status_succeeded : status_failed;
  response.body_omitted = effect.value.size() > max_response;
  if (!response.body_omitted) response.body = effect.value;
  return response;
}

void Finish::State::finish(Effect effect) {
  if (finished_.exchange(true)) return;
  onceward::Effect kept = for_engine(effect, max_response_);
  *given_ = std::move(effect);
  delivery_->give(std::move(kept));
}

void Finish::operator()(Effect effect) const { state_->finish(std::move(effect)); }

}  // namespace onceward::api
