#include "core/transition.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace onceward {
namespace {

bool is_held(State state) { return state == State::claimed || state == State::processing; }
bool is_open(State state) { return is_held(state) || state == State::unknown; }

Error stale() { return {Errc::stale, "the claim is not the current one of this record"}; }
Error not_found() { return {Errc::not_found, "no such record"}; }
Error conflict(const char* why) { return {Errc::conflict, why}; }

Step unchanged(Result<Record> reply) { return {std::nullopt, std::move(reply)}; }

Step changed(Record&& next, Timestamp now) {
  next.updated_at = now;
  ONCEWARD_ASSERT(is_consistent(next));
  Step step{next, std::move(next)};
  return step;
}

bool owns(const Record& record, const Fence& fence) {
  return record.operation_id == fence.operation_id && record.epoch == fence.epoch &&
         record.owner == fence.owner;
}

// I3: everything but claim and resolve begins here.
Result<Record> current(const Record* stored, const Fence& fence, Timestamp now) {
  if (!stored) return not_found();
  std::optional<Record> record = settle(*stored, now);
  if (!record) return not_found();
  if (!owns(*record, fence)) return stale();
  return std::move(*record);
}

Record first_claim(const ClaimRequest& event, Timestamp now) {
  Record record;
  record.scope = event.scope;
  record.operation_id = event.operation_id;
  record.created_at = now;
  return record;
}

ClaimStep grant(Record record, const ClaimRequest& event, Timestamp now) {
  record.epoch += 1;
  record.owner = event.owner;
  record.fingerprint = event.fingerprint;
  record.request = event.request;
  record.evidence = {.earlier_too = record.state == State::unknown || record.evidence.earlier_too};
  record.state = event.start;
  record.claimed_at = now;
  record.updated_at = now;
  record.hold_until = now + event.max_hold;
  record.lease_until = std::min(now + event.lease, record.hold_until);
  record.expires_at = {};
  record.ttl = event.ttl;
  record.receipt_ttl = event.receipt_ttl;
  record.response = nullptr;
  record.result = nullptr;
  ONCEWARD_ASSERT(is_consistent(record));
  return {record, {true, std::move(record)}};
}

bool may_run_again(const Record& settled, const ClaimRequest& event, Timestamp now) {
  switch (settled.state) {
    case State::released:
      return true;
    case State::claimed:
      // Provably nothing sent yet, by this epoch.
      return now >= settled.lease_until && (!settled.evidence.earlier_too || event.take_unknown);
    case State::unknown:
      return event.take_unknown;  // on_unknown: forward
    default:
      return false;  // I4
  }
}

bool same_request(const Record& settled, const ClaimRequest& event) {
  return !settled.fingerprint.bound() || settled.fingerprint == event.fingerprint;
}

bool is_same_outcome(const Record& record, const CompleteRequest& event) {
  if (record.state != event.as || !record.response || !event.response) return false;
  return *record.response == *event.response;
}

}  // namespace

std::optional<Record> settle(const Record& stored, Timestamp now) {
  switch (stored.state) {
    case State::processing:
      if (now >= stored.lease_until) {  // I4: it may have run
        Record lapsed = stored;
        lapsed.state = State::unknown;
        lapsed.evidence = {.cause = UnknownCause::owner_lost, .earlier_too = stored.evidence.earlier_too};
        lapsed.updated_at = stored.lease_until;
        return lapsed;
      }
      return stored;
    case State::succeeded:
    case State::failed:
    case State::expired:
      if (now < stored.expires_at) return stored;
      if (now < stored.expires_at + stored.receipt_ttl) return receipt_of(stored);
      return std::nullopt;
    case State::released:
      if (now < stored.expires_at) return stored;
      return std::nullopt;
    case State::claimed:
    case State::unknown:
      return stored;
  }
  return stored;
}

Record receipt_of(const Record& stored) {
  Record receipt = stored;
  if (stored.state != State::expired) receipt.updated_at = stored.expires_at;
  receipt.state = State::expired;
  receipt.response = nullptr;
  const RequestInfo* request = stored.request.get();
  if (request && (!request->leaves.empty() || !request->probe_target.empty() || !request->marks.empty())) {
    RequestInfo slim = *request;
    slim.leaves.clear();
    slim.probe_target.clear();
    slim.marks.clear();  // a mark that still stands says so itself
    receipt.request = std::make_shared<const RequestInfo>(std::move(slim));
  }
  return receipt;
}

ClaimStep transition(const Record* stored, const ClaimRequest& event, Timestamp now) {
  ONCEWARD_ASSERT(is_held(event.start));
  if (!stored) return grant(first_claim(event, now), event, now);
  std::optional<Record> record = settle(*stored, now);
  if (!record) return grant(first_claim(event, now), event, now);
  // The reply of this very claim was lost and it is asked again (I10). When its owner has already ended
  // it, the question was late: a grant would hold the key with nobody behind it.
  if (record->owner == event.owner) {
    const bool mine = is_held(record->state);
    return {std::nullopt, {mine, std::move(*record)}};
  }
  if (may_run_again(*record, event, now) && same_request(*record, event)) {
    return grant(std::move(*record), event, now);
  }
  return {std::nullopt, {false, std::move(*record)}};  // I7
}

Step transition(const Record* stored, const Fence& dispatch, Timestamp now) {
  Result<Record> record = current(stored, dispatch, now);
  if (!record) return unchanged(record.error());
  if (record->state == State::processing) return unchanged(std::move(*record));
  if (record->state != State::claimed) return unchanged(conflict("only a claimed record can be dispatched"));
  if (now >= record->lease_until) return unchanged(stale());  // another may be claiming it
  record->state = State::processing;
  return changed(std::move(*record), now);
}

Step transition(const Record* stored, const RenewRequest& event, Timestamp now) {
  Result<Record> record = current(stored, event.fence, now);
  if (!record) return unchanged(record.error());
  if (!is_held(record->state)) return unchanged(conflict("only a held record can be renewed"));
  if (now >= record->lease_until) return unchanged(stale());
  Record next = *record;
  next.lease_until = std::max(next.lease_until, std::min(now + event.lease, next.hold_until));
  if (next.lease_until == record->lease_until) return unchanged(std::move(*record));
  // A renewal is no change of state: updated_at stays.
  return {next, std::move(next)};
}

Step transition(const Record* stored, const CompleteRequest& event, Timestamp now) {
  ONCEWARD_ASSERT(event.as == State::succeeded || event.as == State::failed);
  Result<Record> record = current(stored, event.fence, now);
  if (!record) return unchanged(record.error());
  if (is_final(record->state)) {
    if (is_same_outcome(*record, event)) return unchanged(std::move(*record));
    return unchanged(conflict("the record already has another outcome"));
  }
  if (record->state == State::released) return unchanged(conflict("the claim was released"));
  if (event.ttl) record->ttl = *event.ttl;
  record->state = event.as;
  record->response = event.response;
  record->result = event.result;
  record->evidence = {};
  record->expires_at = now + record->ttl;
  return changed(std::move(*record), now);
}

Step transition(const Record* stored, const ReleaseRequest& event, Timestamp now) {
  Result<Record> record = current(stored, event.fence, now);
  if (!record) return unchanged(record.error());
  if (record->state == State::released) return unchanged(std::move(*record));
  if (!is_open(record->state)) return unchanged(conflict("a final record cannot be released"));
  if (record->evidence.earlier_too) {
    // This epoch had no effect; an earlier one may have had. The key goes back to being unknown (I4).
    if (stored->state == State::unknown) return unchanged(std::move(*record));
    record->state = State::unknown;
    record->evidence.cause = UnknownCause::declared;
    return changed(std::move(*record), now);
  }
  record->state = State::released;
  record->evidence = {};
  record->expires_at = now + record->ttl;
  if (event.unbind) record->fingerprint = {};
  return changed(std::move(*record), now);
}

Step transition(const Record* stored, const UnknownRequest& event, Timestamp now) {
  Result<Record> record = current(stored, event.fence, now);
  if (!record) return unchanged(record.error());
  if (!is_open(record->state)) return unchanged(conflict("only an open record can become unknown"));
  // A lapsed lease is already unknown; the owner knows the cause better.
  if (record->state == State::unknown && stored->state == State::unknown)
    return unchanged(std::move(*record));
  const bool earlier_too = record->evidence.earlier_too;
  record->state = State::unknown;
  record->evidence = event.evidence;
  record->evidence.earlier_too = earlier_too;
  return changed(std::move(*record), now);
}

Step transition(const Record* stored, const ResolveRequest& event, Timestamp now) {
  ONCEWARD_ASSERT(event.as == State::succeeded || event.as == State::failed || event.as == State::released);
  if (!stored) return unchanged(not_found());
  std::optional<Record> record = settle(*stored, now);
  if (!record || record->operation_id != event.operation_id) return unchanged(not_found());
  if (record->epoch != event.epoch) return unchanged(stale());
  if (is_final(record->state)) return unchanged(conflict("the record is final"));
  // Its epoch has ended without an effect: there is nothing left to say about it. And two who release it at
  // once must not both be told that they did.
  if (record->state == State::released) return unchanged(conflict("the record is released"));
  record->state = event.as;
  record->owner = {};  // whoever held it can no longer complete, release or renew (I3)
  record->evidence = {};
  record->response = event.as == State::released ? nullptr : event.response;
  record->result = event.as == State::released ? nullptr : event.result;
  record->expires_at = now + record->ttl;
  return changed(std::move(*record), now);
}

PurgeAction purge_action(const Record& stored, const PurgeRequest& request, Timestamp now) {
  if (request.operation && stored.request->operation != *request.operation) return PurgeAction::keep;
  if (request.tenant && stored.request->tenant != *request.tenant) return PurgeAction::keep;
  if (request.updated_before && stored.updated_at >= *request.updated_before) return PurgeAction::keep;
  if (request.final_too && is_final(stored.state)) return PurgeAction::remove;
  const std::optional<Record> settled = settle(stored, now);
  if (!settled) return PurgeAction::remove;
  if (settled->state == State::expired && stored.state != State::expired) return PurgeAction::to_receipt;
  return PurgeAction::keep;  // I9
}

bool matches(const ListRequest& request, const Record& settled) {
  if (request.state && settled.state != *request.state) return false;
  if (request.operation && settled.request->operation != *request.operation) return false;
  if (request.tenant && settled.request->tenant != *request.tenant) return false;
  if (request.reference && settled.request->reference != *request.reference) return false;
  return !request.updated_before || settled.updated_at < *request.updated_before;
}

std::optional<Timestamp> gone_at(const Record& stored) {
  switch (stored.state) {
    case State::succeeded:
    case State::failed:
    case State::expired:
      return stored.expires_at + stored.receipt_ttl;
    case State::released:
      return stored.expires_at;
    default:
      return std::nullopt;
  }
}

bool is_consistent(const Record& record) {
  if (record.epoch == 0 || !record.request) return false;
  if (record.lease_until > record.hold_until) return false;
  // No statement about created_at and updated_at: a wall clock may have been set back between them.
  if (record.result && !is_final(record.state)) return false;
  return !record.response || record.state == State::succeeded || record.state == State::failed;
}

}  // namespace onceward
