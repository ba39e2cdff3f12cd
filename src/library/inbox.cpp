#include "onceward/inbox.hpp"

#include "core/pause.hpp"
#include "library/host.hpp"
#include "library/message_command.hpp"

namespace onceward::api {
namespace {

using Kind = Consumed::Kind;
using Reason = Consumed::Reason;

Effect effect_of(Handling handling) {
  switch (handling.kind) {
    case Handling::Kind::done:
      return Effect::succeeded(std::move(handling.text));
    case Handling::Kind::failed:
      return Effect::released(std::move(handling.text));
    case Handling::Kind::rejected:
      return Effect::failed(std::move(handling.text));
    case Handling::Kind::unknown:
      break;
  }
  return Effect::unknown(std::move(handling.text));
}

}  // namespace

std::string_view to_string(Consumed::Reason reason) {
  switch (reason) {
    case Reason::none:
      return "none";
    case Reason::failed:
      return "failed";
    case Reason::in_progress:
      return "in progress";
    case Reason::store:
      return "store";
    case Reason::rejected:
      return "rejected";
    case Reason::attempts:
      return "attempts";
    case Reason::unknown:
      return "unknown";
    case Reason::mismatch:
      return "mismatch";
    case Reason::duplicate:
      return "duplicate";
    case Reason::invalid:
      return "invalid";
  }
  return {};
}

Inbox::Inbox(Engine& engine, InboxOptions options) : engine_(engine), options_(std::move(options)) {}

Consumed Inbox::consume(const Message& message, const Handler& handler) {
  const AttemptLimit limit{options_.attempts, message.attempts_before};
  std::string why;  // the handler's last word, which a released record does not keep
  Epoch attempt = 0;
  const Command command = command_for_message(options_.consumer, message);
  // An epoch is an attempt: a failed one releases the key, and the next claim of it counts one more.
  const Outcome outcome = engine_.run(command, [&](const Ticket& ticket) {
    attempt = ticket.epoch;
    if (attempt > limit.at(attempt)) return Effect::released("it has been tried often enough");
    Handling handling = handler(message, ticket);
    if (handling.kind != Handling::Kind::done) why = handling.text;
    return effect_of(std::move(handling));
  });
  Consumed consumed = judge(outcome);
  consumed.attempts = attempt;
  if (attempt != 0 && !why.empty()) consumed.error = std::move(why);
  if (consumed.kind == Kind::retry) consumed.pause = pause_after(attempt, options_.pause);
  const bool last = attempt >= limit.at(attempt) &&
                    (consumed.reason == Reason::failed || consumed.reason == Reason::unknown);
  if (consumed.kind == Kind::retry && last) {
    consumed.kind = Kind::dead_letter;
    consumed.reason = Reason::attempts;
  }
  if (consumed.kind == Kind::dead_letter && options_.dead_letter)
    consumed.put_aside = options_.dead_letter(message, consumed);
  return consumed;
}

Consumed Inbox::judge(const Outcome& outcome) const {
  Consumed consumed;
  consumed.operation_id = outcome.operation_id;
  consumed.error = outcome.message;
  const auto is = [&consumed](Kind kind, Reason reason) {
    consumed.kind = kind;
    consumed.reason = reason;
    return consumed;
  };
  const bool forwards =
      engine_.host_->operation_named(options_.consumer).policy->on_unknown == OnUnknown::forward;
  switch (outcome.kind) {
    case Outcome::Kind::executed:
    case Outcome::Kind::replayed:
    case Outcome::Kind::not_stored:
    case Outcome::Kind::expired:
      // Done, but the next delivery would not find it so.
      if (!outcome.stored) return is(Kind::retry, Reason::store);
      consumed.value = outcome.failed ? "" : outcome.value;
      if (outcome.failed) consumed.error = outcome.value;
      if (outcome.failed) return is(Kind::dead_letter, Reason::rejected);
      return is(outcome.ran ? Kind::handled : Kind::duplicate, Reason::none);
    case Outcome::Kind::released:
      return is(Kind::retry, Reason::failed);
    case Outcome::Kind::in_progress:
      return is(Kind::retry, Reason::in_progress);
    case Outcome::Kind::mismatch:
      consumed.error = "another message with the same id and other content came before";
      return is(Kind::dead_letter, Reason::mismatch);
    case Outcome::Kind::unknown:
      if (!outcome.stored) return is(Kind::retry, Reason::store);
      if (consumed.error.empty()) consumed.error = "nobody can tell whether it was handled";
      return is(forwards ? Kind::retry : Kind::dead_letter, Reason::unknown);
    case Outcome::Kind::duplicate:
      return is(Kind::dead_letter, Reason::duplicate);
    case Outcome::Kind::store_failed:
      return is(Kind::retry, Reason::store);
    case Outcome::Kind::invalid:
      return is(Kind::dead_letter, Reason::invalid);
  }
  return is(Kind::retry, Reason::store);
}

}  // namespace onceward::api
