#include "simulation/courier.hpp"

#include "base/await.hpp"

namespace onceward::simulation {

bool Courier::ready() {
  if (world_.is(Mutant::forward_before_claim) && !life_->is_dead() && !sent_early_) {
    sent_early_ = true;
    upstream_.send(call_->who, {}, life_->connect());
  }
  return life_->is_dead() || world_.happens(600);
}

Task<Result<Done>> Courier::prepare() {
  co_await SleepUntil(life_->executor, life_->clock.mono() + world_.chance.us(100, 30'000));
  if (life_->is_dead() || world_.happens(world_.faults.connect_refused))
    co_return Error{Errc::unavailable, "connection refused"};
  co_return Done{};
}

void Courier::send(const Grant& grant) {
  wire_ = life_->connect();
  judge_.sends(*call_, grant);
  upstream_.send(call_->who, grant, wire_);
}

Task<Effect> Courier::execute(Grant grant) {
  grant_ = grant;
  if (life_->is_dead() || world_.happens(world_.faults.not_sent))
    co_return NotSent{"the connection was closed"};
  send(grant);
  const MonoTime until = life_->clock.mono() + timeout_;
  std::optional<Arrival> arrival = co_await wire_->until(until);
  if (world_.is(Mutant::resend_on_eof) && arrival && arrival->kind == Arrival::Kind::reset &&
      !life_->is_dead()) {
    wire_ = life_->connect();
    upstream_.send(call_->who, grant, wire_);
    arrival = co_await wire_->until(until);
  }
  co_return understand(arrival);
}

Task<std::optional<Answer>> Courier::late() {
  const std::optional<Arrival> arrival = co_await wire_->until(grant_.hold_until);
  const Effect effect = understand(arrival);
  if (const Answer* answer = std::get_if<Answer>(&effect)) co_return *answer;
  co_return std::nullopt;
}

Effect Courier::understand(const std::optional<Arrival>& arrival) const {
  static const OutcomeTable outcomes;
  if (!arrival) return NoAnswer{{UnknownCause::timeout, 0, 0}};
  switch (arrival->kind) {
    case Arrival::Kind::reset:
      return NoAnswer{{UnknownCause::reset, 0, 0}};
    case Arrival::Kind::half:
      if (!world_.is(Mutant::half_answer_stored))
        return NoAnswer{
            {UnknownCause::half_answer, arrival->response->status, arrival->response->body.size()}};
      break;
    case Arrival::Kind::whole:
      break;
  }
  return Answer{arrival->response, outcomes.of(arrival->response->status), std::nullopt};
}

}  // namespace onceward::simulation
