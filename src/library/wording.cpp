#include "library/wording.hpp"

#include "base/assert.hpp"
#include "core/fingerprint.hpp"

namespace onceward::api {
namespace {

using Kind = Outcome::Kind;

Outcome about(Kind kind, const Record& record) {
  Outcome outcome;
  outcome.kind = kind;
  if (!record.operation_id.is_zero()) outcome.operation_id = to_string(record.operation_id);
  outcome.epoch = record.epoch;
  if (record.result) outcome.result = *record.result;
  return outcome;
}

Kind kind_of(const Effect& effect) {
  switch (effect.kind) {
    case Effect::Kind::succeeded:
    case Effect::Kind::failed:
      return Kind::executed;
    case Effect::Kind::released:
      return Kind::released;
    case Effect::Kind::unknown:
      return Kind::unknown;
  }
  return Kind::unknown;
}

Outcome ran(const Record& record, const Effect& given, bool stored) {
  Outcome outcome = about(kind_of(given), record);
  outcome.ran = true;
  outcome.stored = stored;
  outcome.failed = given.kind == Effect::Kind::failed;
  (outcome.kind == Kind::executed ? outcome.value : outcome.message) = given.value;
  if (outcome.kind == Kind::executed) outcome.result = given.result;
  return outcome;
}

}  // namespace

std::string_view to_string(Outcome::Kind kind) {
  switch (kind) {
    case Kind::executed:
      return "executed";
    case Kind::replayed:
      return "replayed";
    case Kind::released:
      return "released";
    case Kind::in_progress:
      return "in progress";
    case Kind::mismatch:
      return "mismatch";
    case Kind::unknown:
      return "unknown";
    case Kind::expired:
      return "expired";
    case Kind::not_stored:
      return "not stored";
    case Kind::duplicate:
      return "duplicate";
    case Kind::store_failed:
      return "store failed";
    case Kind::invalid:
      return "invalid";
  }
  return {};
}

Outcome worded_replay(const Record& record) {
  Outcome outcome = about(Kind::replayed, record);
  outcome.failed = record.state == State::failed;
  outcome.value = record.response->body;
  return outcome;
}

Outcome worded_in_progress(const Record& record) { return about(Kind::in_progress, record); }

Outcome worded_rejection(const Record& record, Rejection why, const std::vector<Leaf>& leaves) {
  switch (why) {
    case Rejection::mismatch: {
      Outcome outcome = about(Kind::mismatch, record);
      outcome.changed = changed_pointers(record.request->leaves, leaves);
      return outcome;
    }
    case Rejection::unknown:
      return about(Kind::unknown, record);
    case Rejection::expired:
      return about(Kind::expired, record);
    case Rejection::not_stored: {
      Outcome outcome = about(Kind::not_stored, record);
      outcome.failed = record.state == State::failed;
      return outcome;
    }
    case Rejection::duplicate_fact: {
      Outcome outcome = about(Kind::duplicate, record);
      outcome.message = "another key already stands for the same business operation";
      return outcome;
    }
    case Rejection::suspected: {
      Outcome outcome = about(Kind::duplicate, record);
      outcome.message = "the same caller sent the like of it a moment ago";
      return outcome;
    }
  }
  return about(Kind::unknown, record);
}

Outcome worded_failure(const Error& error) {
  Outcome outcome;
  outcome.kind = Kind::store_failed;
  outcome.message = error.message;
  return outcome;
}

Outcome worded(onceward::Outcome outcome, const Effect& given, const std::vector<Leaf>& leaves) {
  if (const auto* executed = std::get_if<Executed>(&outcome)) {
    return ran(executed->record, given, executed->stored);
  }
  if (std::holds_alternative<Unguarded>(outcome)) return ran(Record{}, given, false);
  if (const auto* replayed = std::get_if<Replayed>(&outcome)) return worded_replay(replayed->record);
  if (const auto* rejected = std::get_if<Rejected>(&outcome)) {
    return worded_rejection(rejected->record, rejected->why, leaves);
  }
  if (const auto* running = std::get_if<StillRunning>(&outcome)) return worded_in_progress(running->record);
  if (const auto* unreachable = std::get_if<Unreachable>(&outcome)) {
    Outcome released;
    released.kind = Kind::released;
    released.message = unreachable->message;
    return released;
  }
  ONCEWARD_ASSERT(std::holds_alternative<StoreFailed>(outcome));  // quotas are the proxy's
  return worded_failure(std::get<StoreFailed>(outcome).error);
}

}  // namespace onceward::api
