#include "library/transaction_run.hpp"

#include "core/decide.hpp"
#include "core/outcome_events.hpp"
#include "library/finish.hpp"
#include "library/wording.hpp"

namespace onceward::api {
namespace {

// Undoes what was entered unless told that it was left.
class Entered {
 public:
  explicit Entered(Ledger& ledger) : ledger_(ledger) {}
  ~Entered() {
    if (open_) ledger_.undo();
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  void left() { open_ = false; }

 private:
  Ledger& ledger_;
  bool open_ = true;
};

Outcome worded_error(const Error& error) {
  Outcome outcome = worded_failure(error);
  if (error.code == Errc::conflict) outcome.kind = Outcome::Kind::in_progress;  // it may be ours or another's
  return outcome;
}

Outcome duplicate_of(const Record& record, const onceward::Command& command) {
  Decision decision = decide_duplicate(record, command.fingerprint);
  if (const auto* again = std::get_if<CompareAgain>(&decision)) {
    const Result<Fingerprint> as_then = command.fingerprint_as(again->version);
    if (!as_then) return worded_failure({Errc::unreadable, as_then.error().message});
    decision = decide_duplicate(record, *as_then);
  }
  if (const auto* reject = std::get_if<Reject>(&decision))
    return worded_rejection(record, reject->why, command.request->leaves);
  return std::holds_alternative<Replay>(decision) ? worded_replay(record) : worded_in_progress(record);
}

// Refused by the mark of another key; whose stored answer that is, is not looked into here.
Outcome refused_by(const MarkHolder& standing) {
  Record holder;
  holder.operation_id = standing.operation_id;
  const bool is_fact = standing.kind == MarkKind::unique;
  return worded_rejection(holder, is_fact ? Rejection::duplicate_fact : Rejection::suspected, {});
}

Outcome ran(Outcome::Kind kind, const Ticket& ticket, std::string message) {
  Outcome outcome;
  outcome.kind = kind;
  outcome.ran = true;
  outcome.operation_id = ticket.operation_id;
  outcome.epoch = ticket.epoch;
  outcome.message = std::move(message);
  return outcome;
}

CompleteRequest completion(const Record& record, const onceward::Command& command, const Effect& effect,
                           std::size_t max_response, Timestamp now) {
  CompleteRequest request;
  request.fence = fence_of(record);
  request.as = effect.kind == Effect::Kind::succeeded ? State::succeeded : State::failed;
  request.response = std::make_shared<const Response>(kept_response(effect, max_response));
  request.ttl = effect.ttl;
  request.result = kept_result(effect);
  request.events = events_of({.operation_id = record.operation_id,
                              .request = *command.request,
                              .as = request.as,
                              .response = request.response.get(),
                              .result = request.result.get(),
                              .at = now},
                             command.policy->events, effect.events);
  return request;
}

}  // namespace

Outcome run_in_transaction(Ledger& ledger, const onceward::Command& command, const ClaimRequest& claim,
                           std::size_t max_response, const Clock& clock,
                           const TransactionalCommands::Work& work) {
  using Kind = Outcome::Kind;
  if (const Result<Done> entered = ledger.enter(); !entered) return worded_error(entered.error());
  Entered entered(ledger);
  const Result<ClaimReply> claimed = ledger.claim(claim, command.wait);
  if (!claimed) return worded_error(claimed.error());
  if (!claimed->granted && claimed->standing) return refused_by(*claimed->standing);
  if (!claimed->granted) return duplicate_of(claimed->record, command);

  const Record& record = claimed->record;
  const Ticket ticket{to_string(record.operation_id), record.epoch};
  Effect effect = work(ticket);  // what it throws passes through, and everything is undone
  if (effect.kind == Effect::Kind::released) return ran(Kind::released, ticket, effect.value);
  if (effect.kind == Effect::Kind::unknown)
    return ran(Kind::invalid, ticket, "rolled back: work in a transaction has happened or has not");
  if (const std::string why = events_refusal(effect, true); !why.empty())
    return ran(Kind::invalid, ticket, "rolled back: " + why);

  const Result<Record> completed =
      ledger.complete(completion(record, command, effect, max_response, clock.now()));
  if (!completed) return ran(Kind::released, ticket, "rolled back: " + completed.error().message);
  if (const Result<Done> left = ledger.leave(); !left) {
    // The commit may have happened although its reply was lost; the same key will tell (I10).
    const bool unsure = left.error().code == Errc::unavailable;
    return ran(unsure ? Kind::unknown : Kind::released, ticket, left.error().message);
  }
  entered.left();
  Outcome outcome = ran(Kind::executed, ticket, {});
  outcome.failed = effect.kind == Effect::Kind::failed;
  outcome.value = std::move(effect.value);
  outcome.result = std::move(effect.result);
  return outcome;
}

}  // namespace onceward::api
