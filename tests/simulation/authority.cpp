#include "simulation/authority.hpp"

namespace onceward::simulation {
namespace {

constexpr Nanoseconds unsynced_time = std::chrono::seconds(1);

Fence current_fence(const Record* record, Fence fence) { return record ? fence_of(*record) : fence; }

}  // namespace

void Authority::put(const Record& next, bool forward) {
  const Record* before = find(next.scope);
  const bool was_held = before && (before->state == State::claimed || before->state == State::processing);
  const bool is_held = next.state == State::claimed || next.state == State::processing;
  if (world_.is(Mutant::no_sync))
    unsynced_.push_back({world_.now(), next.scope, before ? std::optional(*before) : std::nullopt});
  judge_.stored(next, forward);
  if (world_.traced)
    world_.say("store " + to_string(next.operation_id) + " " + std::string(to_string(next.state)) +
               " epoch " + std::to_string(next.epoch));
  records_.insert_or_assign(next.scope, next);
  if (was_held && !is_held && left_progress) left_progress(next.scope);
}

void Authority::remove(const Scope& scope, bool by_operator) {
  const Record* record = find(scope);
  if (!record) return;
  if (world_.traced) world_.say("purge " + to_string(record->operation_id));
  judge_.removed(*record, by_operator);
  records_.erase(scope);
}

Result<ClaimReply> Authority::claim(ClaimRequest request) {
  if (unreadable_.contains(request.scope)) {
    if (!world_.is(Mutant::unreadable_is_a_miss)) return unreadable();
    records_.erase(request.scope);
    unreadable_.erase(request.scope);
  }
  const Record* stored = find(request.scope);
  const std::optional<Record> before = stored ? std::optional(*stored) : std::nullopt;
  const bool forward = request.take_unknown;
  if (world_.is(Mutant::lease_end_reexecutes)) request.take_unknown = true;
  Result<MarkedClaim> claim = take(transition(stored, request, clock_.now()), request.request->marks);
  if (!claim) return claim.error();
  const ClaimStep& step = claim->step;
  for (const MarkEntry& entry : claim->taken) {
    if (world_.is(Mutant::mark_outside_the_step)) {
      world_.after(world_.chance.ms(1, 50), [this, entry] { put_mark(entry); });
    } else {
      put_mark(entry);
    }
  }
  if (step.next) put(*step.next, forward);
  if (!step.reply.granted)
    judge_.rejected_claim(before ? &*before : nullptr, find(request.scope), step.reply.standing.has_value());
  return step.reply;
}

Result<MarkedClaim> Authority::take(ClaimStep step, const std::vector<Mark>& marks) const {
  std::vector<MarkSeen> seen;
  for (const Mark& mark : marks) {
    const MarkEntry* entry = find_mark(mark.scope);
    if (entry && unreadable_.contains(entry->holder.scope)) return unreadable();
    seen.push_back({&mark, entry, entry ? find(entry->holder.scope) : nullptr});
  }
  return take_marks(std::move(step), seen, clock_.now());
}

void Authority::end_marks(const Record& next) {
  const bool frees_wrongly = world_.is(Mutant::mark_freed_on_unknown) && next.state == State::unknown;
  if (!ends_marks(next) && !frees_wrongly) return;
  for (const Mark& mark : next.request->marks) {
    const MarkStep step = end_mark(mark, find_mark(mark.scope), next, clock_.now());
    if (step.change == MarkChange::write) put_mark(step.entry);
    if (step.change == MarkChange::drop) marks_.erase(mark.scope);
  }
}

Result<Record> Authority::complete(const CompleteRequest& request) {
  if (!world_.is(Mutant::complete_without_compare)) return apply(request.fence.scope, request);
  CompleteRequest wrong = request;
  wrong.fence = current_fence(find(request.fence.scope), request.fence);
  return apply(wrong.fence.scope, wrong);
}

Result<Record> Authority::release(const ReleaseRequest& request) {
  if (!world_.is(Mutant::release_without_compare)) return apply(request.fence.scope, request);
  ReleaseRequest wrong = request;
  wrong.fence = current_fence(find(request.fence.scope), request.fence);
  return apply(wrong.fence.scope, wrong);
}

Result<Record> Authority::lookup(const Scope& scope) const {
  if (unreadable_.contains(scope) && !world_.is(Mutant::unreadable_is_a_miss)) return unreadable();
  const Record* stored = unreadable_.contains(scope) ? nullptr : find(scope);
  std::optional<Record> record = stored ? settle(*stored, clock_.now()) : std::nullopt;
  if (!record) return Error{Errc::not_found, "no such record"};
  return std::move(*record);
}

std::vector<Record> Authority::list(State state) const {
  std::vector<Record> found;
  for (const auto& [scope, stored] : records_) {
    std::optional<Record> record = settle(stored, clock_.now());
    if (record && record->state == state && !unreadable_.contains(scope)) found.push_back(std::move(*record));
  }
  return found;
}

void Authority::purge(bool final_too, const std::string& tenant) {
  PurgeRequest request;
  request.final_too = final_too;
  if (final_too) request.tenant = tenant;
  for (const Scope& scope : scopes()) {
    if (unreadable_.contains(scope)) continue;
    const Record& record = *find(scope);
    const PurgeAction action = purge_action(record, request, clock_.now());
    if (action == PurgeAction::to_receipt) put(receipt_of(record), false);
    if (action != PurgeAction::remove) continue;
    if (world_.is(Mutant::purge_without_epoch)) {
      // Chooses now and deletes by key later, whatever stands there by then.
      world_.after(world_.chance.ms(1, 2000), [this, scope, final_too] { remove(scope, final_too); });
    } else {
      remove(scope, final_too);
    }
  }
}

void Authority::crash(Nanoseconds for_how_long) {
  if (world_.traced) world_.say("the store crashes");
  down_until_ = world_.now() + for_how_long;
  while (!unsynced_.empty() && world_.now() - unsynced_.back().at < unsynced_time) {
    const Change& lost = unsynced_.back();
    records_.erase(lost.scope);
    if (lost.before) records_.emplace(lost.scope, *lost.before);
    unsynced_.pop_back();
  }
}

void Authority::damage(const Scope& scope, Nanoseconds for_how_long) {
  unreadable_.insert(scope);
  world_.after(for_how_long, [this, scope] { unreadable_.erase(scope); });
}

void Authority::heal() {
  unreadable_.clear();
  down_until_ = {};
}

std::vector<Scope> Authority::scopes() const {
  std::vector<Scope> scopes;
  for (const auto& [scope, record] : records_) scopes.push_back(scope);
  return scopes;
}

}  // namespace onceward::simulation
