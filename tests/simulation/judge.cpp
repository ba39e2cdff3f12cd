#include "simulation/judge.hpp"

#include <algorithm>

#include "core/transition.hpp"

namespace onceward::simulation {

void Judge::check(bool holds, const char* rule) {
  if (!holds) world_.violate(rule);
}

bool Judge::is_over(const Truth& truth) const { return truth.purged || !settle(truth.last, clock_.now()); }

void Judge::stored(const Record& after, bool forward) {
  const auto known = truths_.find(after.operation_id);
  if (known == truths_.end()) {
    begins(after, forward);
  } else if (is_late_claim(known->second, after)) {
    known->second.purged = false;
    known->second.effects = 0;
    known->second.effect = nullptr;
  } else {
    goes_on(known->second, after);
  }
  Truth& truth = truths_[after.operation_id];
  truth.last = after;
  truth.granted.insert(after.epoch);
  if (after.response && !contains(truth.outcomes, *after.response)) truth.outcomes.push_back(after.response);
  truth.states_a_fact |= !after.request->marks.empty();
  for (const Mark& mark : after.request->marks)
    if (after.state == State::succeeded && !truth.fact_until) truth.fact_until = clock_.now() + mark.keep;
}

// Whether it may have come true and is still within its time.
bool Judge::holds_its_fact(const Truth& truth) const {
  if (truth.effects == 0) return false;
  if (truth.fact_until) return clock_.now() < *truth.fact_until;
  const std::optional<Record> now = settle(truth.last, clock_.now());
  return now && (now->state == State::processing || now->state == State::unknown);
}

void Judge::check_fact(const OperationId& operation, const Truth& truth) {
  for (const Mark& mark : truth.last.request->marks) {
    for (const OperationId& other : facts_[mark.scope])
      check(other == operation || !holds_its_fact(truths_[other]), "unique: a second effect of one fact");
    facts_[mark.scope].push_back(operation);
  }
}

// A claim that was lost on its way, asked again and long over can still arrive: the key is then held
// for nobody until its lease ends or its owner frees it. The old life was over, so this is a new one.
bool Judge::is_late_claim(const Truth& truth, const Record& after) const {
  return is_over(truth) && after.epoch == 1 && after.owner == truth.first_owner &&
         after.state == State::processing;
}

void Judge::begins(const Record& after, bool forward) {
  check(after.epoch == 1, "I3: a record's first epoch is 1");
  for (const OperationId& earlier : lives_[after.scope])
    check(is_over(truths_[earlier]), "I5/I9: a key began a new life while its record still stood");
  lives_[after.scope].push_back(after.operation_id);
  Truth& truth = truths_[after.operation_id];
  truth.scope = after.scope;
  truth.forward = forward;
  truth.first_owner = after.owner;
}

void Judge::goes_on(Truth& truth, const Record& after) {
  check(!truth.purged, "I3: a record came back after it was purged");
  const std::optional<Record> before = settle(truth.last, clock_.now());
  check(before.has_value(), "I3: a record was changed after it was gone");
  if (!before) return;
  check(after.epoch >= before->epoch, "I3: epochs only grow");
  if (after.epoch > before->epoch) {
    const bool lapsed_claim = before->state == State::claimed && clock_.now() >= before->lease_until;
    const bool may_run = before->state == State::released || lapsed_claim ||
                         (before->state == State::unknown && truth.forward);
    check(may_run, "I4: a key that may have executed was claimed again");
    return;
  }
  const bool resolved = after.owner.is_zero();
  check(resolved || after.owner == before->owner, "I3: the owner of an epoch changed");
  if (is_final(before->state)) {
    check(after.state == before->state || after.state == State::expired, "I3: a final record changed");
    check(!after.response || (before->response && *after.response == *before->response),
          "I3: a stored response changed");
  }
}

void Judge::removed(const Record& before, bool by_operator) {
  const std::optional<Record> settled = settle(before, clock_.now());
  check(!settled || (by_operator && is_final(settled->state)),
        "I9: a record was purged before its time, or without being final");
  truths_[before.operation_id].purged = true;
}

void Judge::rejected_claim(const Record* before, const Record* after, bool by_mark) {
  if (by_mark && !before && !after) return;
  const bool same = before && after && before->epoch == after->epoch && before->owner == after->owner &&
                    before->state == after->state && before->lease_until == after->lease_until &&
                    before->updated_at == after->updated_at && before->fingerprint == after->fingerprint &&
                    before->response == after->response;
  check(same, "I7: a rejected duplicate changed the record");
}

void Judge::sends(Call& call, const Grant& grant) {
  ++call.sends;
  check(!call.nothing_sent, "I7: a request was sent after its caller was told that it would not be");
  const auto known = truths_.find(grant.operation_id);
  check(known != truths_.end() && known->second.granted.contains(grant.epoch),
        "I1: a request was sent without a durable claim");
  if (known == truths_.end()) return;
  check(known->second.scope == call.scope, "I1: a request was sent under another key's claim");
  const std::optional<Record> now = settle(known->second.last, clock_.now());
  check(now && now->epoch == grant.epoch && now->state == State::processing,
        "I4: a request was sent after its lease had ended");
  check(now && now->fingerprint == call.fingerprint, "I7: a request other than the claimed one was sent");
}

void Judge::took_effect(const Identity& who, const OperationId& operation, Epoch epoch,
                        const std::shared_ptr<const Response>& response) {
  const auto known = truths_.find(operation);
  check(known != truths_.end() && known->second.granted.contains(epoch),
        "I1: an effect without a durable claim");
  if (known == truths_.end()) return;
  Truth& truth = known->second;
  check(++truth.effects == 1, "promise: a second effect of one operation");
  truth.effect = response;
  truth.booked.push_back(response);
  for (const OperationId& other : lives_[truth.scope]) {
    const Truth& earlier = truths_[other];
    check(other == operation || earlier.effects == 0 || is_over(earlier),
          "promise: a second effect of one key within the life of its record");
  }
  check_fact(operation, truth);
  if (who.forward) return;
  const std::optional<Record> now = settle(truth.last, clock_.now());
  check(now && now->epoch == epoch && (now->state == State::processing || now->state == State::unknown),
        "promise: an effect of an operation whose record had already said otherwise");
}

void Judge::answered(const OperationId& operation, const std::shared_ptr<const Response>& response) {
  if (const auto known = truths_.find(operation); known != truths_.end())
    known->second.answers.push_back(response);
}

std::shared_ptr<const Response> Judge::effect_of(const OperationId& operation) const {
  const auto known = truths_.find(operation);
  return known == truths_.end() ? nullptr : known->second.effect;
}

void Judge::check_gentle(const Record& at_the_end) {
  check(at_the_end.state != State::unknown,
        "I10: a claim whose reply was lost was left with nobody behind it");
}

bool Judge::contains(const Responses& responses, const Response& wanted) {
  return std::ranges::any_of(responses, [&](const auto& response) { return *response == wanted; });
}

void Judge::is_for(const Call& call, const Response& response) {
  check(response.body.starts_with(call.who.text()), "I8: an answer to another tenant, caller or request");
}

void Judge::told(Call& call, const Outcome& outcome) {
  check(!call.told, "a caller was told twice");
  call.told = true;
  if (const auto* executed = std::get_if<Executed>(&outcome)) return told_executed(call, *executed);
  if (const auto* replayed = std::get_if<Replayed>(&outcome)) return told_replayed(call, *replayed);
  if (const auto* rejected = std::get_if<Rejected>(&outcome)) return told_rejected(call, *rejected);
  check(!std::holds_alternative<Unguarded>(outcome), "I6: executed without protection");
  check(call.sends == 0, "told that nothing was sent, or that another runs, although its request was sent");
  call.nothing_sent = true;
}

void Judge::told_executed(Call& call, const Executed& executed) {
  const Answer* answer = std::get_if<Answer>(&executed.effect);
  if (std::holds_alternative<NotSent>(executed.effect)) return check(call.sends == 0, "sent, told not sent");
  check(call.sends == 1, "told that it executed, and it was not sent exactly once");
  const auto known = truths_.find(executed.record.operation_id);
  check(known != truths_.end(), "I2: told of an operation that was never stored");
  if (!answer || known == truths_.end()) return;
  const Truth& truth = known->second;
  is_for(call, *answer->response);
  check(contains(truth.answers, *answer->response),
        "truth: told an answer that the upstream never gave whole");
  if (answer->response->status < 300) {
    check(contains(truth.booked, *answer->response), "truth: told a success that is in no book");
  }
  if (executed.stored && answer->outcome == OutcomeClass::replay) {
    check(contains(truth.outcomes, *answer->response),
          "I2: an outcome was told as stored before it was durable");
  }
}

void Judge::told_replayed(const Call& call, const Replayed& replayed) {
  const auto known = truths_.find(replayed.record.operation_id);
  check(known != truths_.end() && replayed.record.response, "I5: a replay of nothing");
  if (known == truths_.end() || !replayed.record.response) return;
  const Response& response = *replayed.record.response;
  is_for(call, response);
  check(contains(known->second.outcomes, response), "promise: a replay differs");
  check(response.status >= 300 || contains(known->second.booked, response),
        "truth: replayed a success that is in no book");
}

void Judge::told_rejected(Call& call, const Rejected& rejected) {
  check(call.sends == 0, "I7: rejected, although its request was sent");
  call.nothing_sent = true;
  const Record& record = rejected.record;
  const auto known = truths_.find(record.operation_id);
  if (rejected.why == Rejection::duplicate_fact) {
    // Its own key's too, in an earlier life: the fact outlives the record.
    return check(call.who.states_a_fact && known != truths_.end() && known->second.states_a_fact,
                 "unique: rejected because of no fact");
  }
  check(known != truths_.end() && known->second.scope == call.scope, "I8: rejected because of another's key");
  switch (rejected.why) {
    case Rejection::mismatch:
      return check(record.fingerprint.bound() && record.fingerprint != call.fingerprint,
                   "a mismatch that is none");
    case Rejection::unknown:
      check(!world_.faults.gentle, "I10: a claim whose reply was lost was left with nobody behind it");
      return check(!call.who.forward, "forward: an unknown key was not executed again");
    case Rejection::expired:
      return check(record.state == State::expired, "expired, although its record is not");
    case Rejection::not_stored:
      return check(false, "not stored, although every answer is small");
    case Rejection::duplicate_fact:
    case Rejection::suspected:
      return check(false, "suspected, although nothing is");
  }
}

}  // namespace onceward::simulation
