// Verbs that change more than a record: a claim with marks, and outcomes that end marks or bring events.
// Everything they change goes into one batch, so that a power cut takes all of it or nothing.
#include "core/adoption.hpp"
#include "stores/embedded/store_impl.hpp"
#include "stores/embedded/verb_parts.hpp"

namespace onceward::embedded {
namespace {

constexpr int rounds_max = 100;  // another needs that a mark has another holder than a moment ago

Error too_fast() { return {Errc::unavailable, "the marks change faster than they can be read"}; }

std::unique_ptr<Write> mark_write(const MarkEntry& entry) {
  auto write = std::make_unique<Write>();
  write->role = Role::mark;
  write->scope = entry.scope;
  write->record = std::make_unique<Record>(mark_record(entry));
  return write;
}

std::unique_ptr<Write> mark_removal(const Scope& scope) {
  auto write = std::make_unique<Write>();
  write->kind = EntryKind::removal;
  write->role = Role::mark;
  write->scope = scope;
  return write;
}

void add_mark(const Mark& mark, const MarkStep& step, std::vector<std::unique_ptr<Write>>& parts) {
  if (step.change == MarkChange::write) parts.push_back(mark_write(step.entry));
  if (step.change == MarkChange::drop) parts.push_back(mark_removal(mark.scope));
}

template <class T>
void address(Write& write, Reply<T>& reply) {
  write.reply = &reply;
  write.executor = reply.executor;
  write.fail = &fail_reply<T>;
}

std::optional<MarkEntry> entry_at(const WideView& view, const Scope& scope) {
  const Record* stored = view.record(scope);
  return stored ? std::optional(mark_entry(*stored)) : std::nullopt;
}

}  // namespace

bool StoreImpl::claim_marked(const ClaimRequest& request, Reply<ClaimReply>& reply) {
  const std::vector<Mark>& marks = request.request->marks;
  const Timestamp now = time_.now();
  WideView view(shards_);
  view.add(request.scope);
  for (const Mark& mark : marks) view.add(mark.scope);
  for (int round = 0; round < rounds_max; ++round) {
    if (Result<Done> seen = view.look(); !seen) return answer<ClaimReply>(reply, seen.error());
    if (Write* pending = view.pending()) {
      pending->waiting.push_back({Verb::claim, &request, &reply, reply.executor});
      return false;
    }
    std::vector<std::optional<MarkEntry>> entries;
    for (const Mark& mark : marks) entries.push_back(entry_at(view, mark.scope));
    bool grown = false;
    for (const std::optional<MarkEntry>& entry : entries) grown |= entry && view.add(entry->holder.scope);
    const Record* const before = view.record(request.scope);
    if (before) {
      for (const Mark& mark : before->request->marks) grown |= view.add(mark.scope);
    }
    if (grown) {
      view.unlock();
      continue;
    }
    std::vector<MarkSeen> seen;
    for (std::size_t i = 0; i < marks.size(); ++i) {
      const std::optional<MarkEntry>& entry = entries[i];
      seen.push_back(
          {&marks[i], entry ? &*entry : nullptr, entry ? view.record(entry->holder.scope) : nullptr});
    }
    MarkedClaim claim = take_marks(transition(before, request, now), seen, now);
    if (!claim.step.next) return answer<ClaimReply>(reply, std::move(claim.step.reply));
    if (std::optional<Error> why = refuses_claims(*request.request))
      return answer<ClaimReply>(reply, std::move(*why));
    auto write = std::make_unique<Write>();
    write->scope = request.scope;
    for (const Mark& mark : left_marks(before, *claim.step.next)) {
      const std::optional<MarkEntry> entry = entry_at(view, mark.scope);
      add_mark(mark, leave_mark(mark, entry ? &*entry : nullptr, *claim.step.next, now), write->parts);
    }
    write->record = std::make_unique<Record>(std::move(*claim.step.next));
    write->gives_way = true;
    write->records_change = view.is_counted(request.scope) ? 0 : 1;
    for (const MarkEntry& entry : claim.taken) write->parts.push_back(mark_write(entry));
    address(*write, reply);
    reply.value = std::move(claim.step.reply);  // true once the write is
    submit_wide(view, std::move(write));
    return false;
  }
  return answer<ClaimReply>(reply, too_fast());
}

template <class Event>
void StoreImpl::add_marks(const WideView& view, const Event& event, const Record& next, Timestamp now,
                          Parts& parts) {
  for (const Mark& mark : next.request->marks) {
    const std::optional<MarkEntry> entry = entry_at(view, mark.scope);
    add_mark(mark, mark_step(event, mark, entry ? &*entry : nullptr, next, now), parts);
  }
}

template <class Event, class T>
bool StoreImpl::decide_wide(Verb verb, const Scope& scope, const Event& event, Reply<T>& reply) {
  constexpr bool adopted = std::is_same_v<Event, Record>;
  const Timestamp now = time_.now();
  const Events* events = events_of(event);
  WideView view(shards_);
  view.add(scope);
  for (int round = 0; round < rounds_max; ++round) {
    if (Result<Done> seen = view.look(); !seen) return answer<T>(reply, seen.error());
    if (Write* pending = view.pending()) {
      pending->waiting.push_back({verb, &event, &reply, reply.executor});
      return false;
    }
    auto step = transition(view.record(scope), event, now);
    if (!step.next) return answer<T>(reply, std::move(step.reply));
    std::vector<std::pair<Scope, bool>> touched;
    if (changes_marks(event, *step.next)) {
      for (const Mark& mark : step.next->request->marks) touched.emplace_back(mark.scope, true);
    }
    if (events) {
      for (const onceward::Event& one : *events) touched.emplace_back(event_scope(one.id), false);
    }
    bool grown = false;
    for (const auto& [one, wanted] : touched) grown |= view.add(one, wanted);
    if (grown) {
      view.unlock();
      continue;
    }
    if constexpr (adopted) {
      if (std::optional<Error> why = refuses_claims(*event.request)) return answer<T>(reply, std::move(*why));
    }
    auto write = std::make_unique<Write>();
    write->scope = scope;
    if (changes_marks(event, *step.next)) add_marks(view, event, *step.next, now, write->parts);
    if (events) add_events(*step.next, *events, now, write->parts);
    write->record = std::make_unique<Record>(std::move(*step.next));
    write->gives_way = adopted;
    write->records_change = view.is_counted(scope) ? 0 : 1;
    address(*write, reply);
    reply.value = std::move(step.reply);  // true once the write is
    submit_wide(view, std::move(write));
    return false;
  }
  return answer<T>(reply, too_fast());
}

template bool StoreImpl::decide_wide(Verb, const Scope&, const CompleteRequest&, Reply<Record>&);
template bool StoreImpl::decide_wide(Verb, const Scope&, const ResolveRequest&, Reply<Record>&);
template bool StoreImpl::decide_wide(Verb, const Scope&, const ReleaseRequest&, Reply<Record>&);
template bool StoreImpl::decide_wide(Verb, const Scope&, const Record&, Reply<bool>&);

bool StoreImpl::adopt_mark(const AdoptMarkRequest& request, Reply<bool>& reply) {
  const MarkEntry& copy = request.copy;
  const Timestamp now = time_.now();
  WideView view(shards_);
  view.add(copy.scope);
  for (int round = 0; round < rounds_max; ++round) {
    if (Result<Done> seen = view.look(); !seen) return answer<bool>(reply, seen.error());
    if (Write* pending = view.pending()) {
      pending->waiting.push_back({Verb::adopt_mark, &request, &reply, reply.executor});
      return false;
    }
    const std::optional<MarkEntry> entry = entry_at(view, copy.scope);
    if (entry && view.add(entry->holder.scope)) {
      view.unlock();
      continue;
    }
    const bool taken =
        takes_mark(copy, entry ? &*entry : nullptr, entry ? view.record(entry->holder.scope) : nullptr, now);
    if (!taken || request.only_ask) return answer<bool>(reply, taken);
    auto write = mark_write(copy);
    if (std::optional<Error> why = refuses_claims(*write->record->request))
      return answer<bool>(reply, std::move(*why));
    write->gives_way = true;
    address(*write, reply);
    reply.value = true;  // once the write is
    submit_wide(view, std::move(write));
    return false;
  }
  return answer<bool>(reply, too_fast());
}

void StoreImpl::add_events(const Record& next, const Events& events, Timestamp now, Parts& parts) {
  std::set<Scope> added;
  for (const Event& event : events) {
    if (events_.contains(event_key(event.id)) || !added.insert(event_scope(event.id)).second) continue;
    PendingEvent pending;
    pending.sequence = events_.next_sequence();
    pending.scope = next.scope;
    pending.event = event;
    pending.created_at = pending.due_at = now;
    parts.push_back(event_write(pending));
  }
}

std::unique_ptr<Write> StoreImpl::event_write(const PendingEvent& event) {
  auto write = std::make_unique<Write>();
  write->role = Role::event;
  write->record = std::make_unique<Record>(event_record(event));
  write->scope = write->record->scope;
  write->queued = std::make_unique<QueuedRef>(queued_ref(event));
  return write;
}

void StoreImpl::submit_wide(WideView& view, std::unique_ptr<Write> write) {
  Write* started = write.release();
  view.shard_of(started->scope).begin(*started);
  for (const std::unique_ptr<Write>& part : started->parts) view.shard_of(part->scope).begin(*part);
  view.unlock();
  encode(*started);
  for (const std::unique_ptr<Write>& part : started->parts) encode(*part);
  writer_.submit(started);
}

}  // namespace onceward::embedded
