#include "sidecar/verdict.hpp"

namespace onceward::sidecar {
namespace {

std::string count(const Attempts& attempts) {
  return "attempt " + std::to_string(attempts.number) + " of " + std::to_string(attempts.limit);
}

Verdict again_or_dead(std::string why, const Attempts& attempts) {
  if (attempts.number < attempts.limit) return TryAgain{std::move(why)};
  return DeadLetter{"attempts", std::move(why) + " (" + count(attempts) + ")"};
}

Verdict unknown(const Record& record, const Attempts& attempts) {
  std::string why = "the outcome of operation " + to_string(record.operation_id) +
                    " is not known: the service may or may not have handled the message";
  if (attempts.forwards) return again_or_dead(std::move(why), attempts);
  return DeadLetter{"unknown", std::move(why)};
}

std::string answered(int status) { return "the service answered " + std::to_string(status); }

Verdict judge_executed(const Executed& executed, const Attempts& attempts) {
  if (!executed.stored) return TryAgain{"the outcome could not be stored", false};
  const auto* answer = std::get_if<Answer>(&executed.effect);
  if (!answer) return unknown(executed.record, attempts);
  const int status = answer->response->status;
  switch (answer->outcome) {
    case OutcomeClass::replay:
      if (status < 400) return Acknowledge{};
      return DeadLetter{"rejected", answered(status)};
    case OutcomeClass::retry:
      return again_or_dead(answered(status), attempts);
    case OutcomeClass::unknown:
      return unknown(executed.record, attempts);
  }
  return unknown(executed.record, attempts);
}

Verdict judge_kept(const Record& record) {
  if (record.state == State::failed) {
    const int status = record.response ? record.response->status : 0;
    return DeadLetter{"rejected", answered(status) + " to an earlier delivery"};
  }
  return Acknowledge{true};
}

Verdict judge_rejected(const Rejected& rejected, const Attempts& attempts) {
  switch (rejected.why) {
    case Rejection::mismatch:
      return DeadLetter{"mismatch", "another message with the same id and other content came before"};
    case Rejection::unknown:
      return unknown(rejected.record, attempts);
    case Rejection::expired:
      return Acknowledge{true};
    case Rejection::not_stored:
      return judge_kept(rejected.record);
    case Rejection::duplicate_fact:
    case Rejection::suspected:
      return DeadLetter{"duplicate", "operation " + to_string(rejected.record.operation_id) +
                                         " stands for the same under another id"};
  }
  return unknown(rejected.record, attempts);
}

}  // namespace

Verdict judge(const Outcome& outcome, const Attempts& attempts) {
  if (attempts.exhausted)
    return DeadLetter{"attempts", "it has been tried " + std::to_string(attempts.limit) + " times already"};
  if (const auto* executed = std::get_if<Executed>(&outcome)) return judge_executed(*executed, attempts);
  if (const auto* replayed = std::get_if<Replayed>(&outcome)) return judge_kept(replayed->record);
  if (const auto* rejected = std::get_if<Rejected>(&outcome)) return judge_rejected(*rejected, attempts);
  if (const auto* unreachable = std::get_if<Unreachable>(&outcome))
    return again_or_dead("the service cannot be reached: " + unreachable->message, attempts);
  if (const auto* failed = std::get_if<StoreFailed>(&outcome))
    return TryAgain{"the store cannot answer: " + failed->error.message, false};
  return TryAgain{"another delivery of it is being handled", false};
}

}  // namespace onceward::sidecar
