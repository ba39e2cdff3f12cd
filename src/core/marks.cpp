#include "core/marks.hpp"

#include <algorithm>

namespace onceward {
namespace {

// What was claimed and lapsed has sent nothing, unless an epoch before it may have.
bool is_lapsed_claim(const Record& settled, Timestamp now) {
  return settled.state == State::claimed && now >= settled.lease_until && !settled.evidence.earlier_too;
}

bool has_no_effect(const Record& settled, Timestamp now) {
  return settled.state == State::released || settled.state == State::failed || is_lapsed_claim(settled, now);
}

MarkEntry entry_of(const Mark& mark, const Record& record, std::optional<Timestamp> until) {
  return {mark.scope, {mark.kind, record.scope, record.operation_id}, until};
}

MarkEntry taken_by(const Record& record, const Mark& mark, Timestamp now) {
  if (mark.kind == MarkKind::suspect) return entry_of(mark, record, now + mark.keep);
  return entry_of(mark, record, std::nullopt);
}

}  // namespace

bool is_held_by(const MarkEntry& entry, const Record& record) {
  return entry.holder.scope == record.scope && entry.holder.operation_id == record.operation_id;
}

bool stands(const MarkEntry& entry, const Record* holder, Timestamp now) {
  std::optional<Record> settled = holder ? settle(*holder, now) : std::nullopt;
  // The key may have run again under another operation after its record was gone.
  if (settled && !is_held_by(entry, *settled)) settled.reset();
  if (settled && has_no_effect(*settled, now)) return false;
  if (entry.until) return now < *entry.until;
  return settled && !is_final(settled->state);
}

MarkedClaim take_marks(ClaimStep step, std::span<const MarkSeen> seen, Timestamp now) {
  if (!step.next) return {std::move(step), {}};
  std::vector<MarkEntry> taken;
  for (const MarkKind kind : {MarkKind::unique, MarkKind::suspect}) {
    for (const MarkSeen& one : seen) {
      if (one.mark->kind != kind) continue;
      const bool in_the_way =
          one.entry && !is_held_by(*one.entry, *step.next) && stands(*one.entry, one.holder, now);
      if (in_the_way && one.mark->refuses) return {{std::nullopt, {false, {}, one.entry->holder}}, {}};
      if (in_the_way && !step.reply.standing) step.reply.standing = one.entry->holder;
      taken.push_back(taken_by(*step.next, *one.mark, now));
    }
  }
  return {std::move(step), std::move(taken)};
}

bool ends_marks(const Record& next) {
  if (!next.request || next.request->marks.empty()) return false;
  return next.state == State::succeeded || next.state == State::failed || next.state == State::released;
}

MarkStep end_mark(const Mark& mark, const MarkEntry* entry, const Record& next, Timestamp now) {
  const bool mine = entry && is_held_by(*entry, next);
  if (next.state != State::succeeded) return {mine ? MarkChange::drop : MarkChange::none, {}};
  if (mark.kind != MarkKind::unique || (entry && !mine)) return {};
  // Also when the entry is gone: a lapsed claim's mark may have been purged before its late completion.
  return {MarkChange::write, entry_of(mark, next, now + mark.keep)};
}

std::vector<Mark> left_marks(const Record* before, const Record& next) {
  if (!before || before->operation_id != next.operation_id) return {};
  std::vector<Mark> left = before->request->marks;
  std::erase_if(left, [&](const Mark& mark) {
    return std::ranges::find(next.request->marks, mark.scope, &Mark::scope) != next.request->marks.end();
  });
  return left;
}

MarkStep leave_mark(const Mark& mark, const MarkEntry* entry, const Record& next, Timestamp now) {
  if (!entry || !is_held_by(*entry, next)) return {};
  if (!next.evidence.earlier_too) return {MarkChange::drop, {}};
  if (mark.kind == MarkKind::suspect) return {};
  return {MarkChange::write, entry_of(mark, next, now + mark.keep)};
}

MarkStep adopt_mark(const Mark& mark, const MarkEntry* entry, const Record& copy) {
  if (entry && !is_held_by(*entry, copy)) return {};
  if (copy.state == State::failed || copy.state == State::released)
    return {entry ? MarkChange::drop : MarkChange::none, {}};
  if (mark.kind == MarkKind::suspect)
    return {MarkChange::write, entry_of(mark, copy, copy.claimed_at + mark.keep)};
  if (copy.state == State::succeeded)
    return {MarkChange::write, entry_of(mark, copy, copy.updated_at + mark.keep)};
  return {MarkChange::write, entry_of(mark, copy, std::nullopt)};
}

}  // namespace onceward
