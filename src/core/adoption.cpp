#include "core/adoption.hpp"

#include "base/assert.hpp"
#include "core/transition.hpp"

namespace onceward {
namespace {

// How far in an epoch's life a state is; each can only be followed by higher ones.
int progress(State state) {
  switch (state) {
    case State::claimed:
      return 1;
    case State::processing:
      return 2;
    case State::unknown:
      return 3;
    case State::released:
      return 4;
    case State::succeeded:
    case State::failed:
      return 5;
    case State::expired:
      return 6;
  }
  return 0;
}

}  // namespace

AdoptStep transition(const Record* stored, const Record& copy, Timestamp now) {
  const std::optional<Record> standing = stored ? settle(*stored, now) : std::nullopt;
  if (!settle(copy, now) || (standing && !supersedes(copy, *standing))) return {std::nullopt, false};
  ONCEWARD_ASSERT(is_consistent(copy));
  return {copy, true};
}

bool supersedes(const Record& copy, const Record& standing) {
  if (copy.operation_id != standing.operation_id) return false;
  if (copy.epoch != standing.epoch) return copy.epoch > standing.epoch;
  if (copy.state != standing.state) return progress(copy.state) > progress(standing.state);
  return (copy.state == State::claimed || copy.state == State::processing) &&
         copy.lease_until > standing.lease_until;
}

bool takes_mark(const MarkEntry& copy, const MarkEntry* entry, const Record* holder, Timestamp now) {
  if (!copy.until || now >= *copy.until) return false;
  if (!entry) return true;
  const bool is_same =
      entry->holder.scope == copy.holder.scope && entry->holder.operation_id == copy.holder.operation_id;
  if (is_same && entry->until) return *entry->until < *copy.until;
  return !stands(*entry, holder, now);
}

}  // namespace onceward
