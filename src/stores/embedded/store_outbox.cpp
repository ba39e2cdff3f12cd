// The outbox of the embedded store: the queues say which events may go, the log has the events.
#include <algorithm>

#include "stores/embedded/store_impl.hpp"
#include "stores/embedded/verb_parts.hpp"

namespace onceward::embedded {
namespace {

std::unique_ptr<Write> removal_of(const Scope& scope, const PendingEvent& event, const EventKey& key) {
  auto write = std::make_unique<Write>();
  write->kind = EntryKind::removal;
  write->role = Role::event;
  write->scope = scope;
  write->queued = std::make_unique<QueuedRef>();
  write->queued->scope = event.scope;
  write->queued->key = key;
  return write;
}

}  // namespace

// Nothing: it is being settled at this moment, or it cannot be read.
std::optional<PendingEvent> StoreImpl::read_event(const PendingEvents::Ref& ref) {
  Shard& shard = shard_of(scope_prefix(ref.scope));
  std::unique_lock lock(shard.mutex);
  const Place place = shard.find(ref.scope);
  lock.unlock();
  if (place.kind != Place::recent && place.kind != Place::sealed) return std::nullopt;
  const Result<std::optional<Record>> stored = read_place(place, ref.scope);
  if (!stored || !*stored) return std::nullopt;
  return pending_event(**stored);
}

bool StoreImpl::fetch_events(const FetchEventsRequest& request, Reply<std::vector<PendingEvent>>& reply) {
  // More than the limit only when some of what comes first cannot be had.
  for (std::size_t asked = request.limit;; asked *= 4) {
    const std::vector<PendingEvents::Ref> due = events_.due(request.partition, time_.now(), asked);
    std::vector<PendingEvent> found;
    std::set<Scope> held_up;  // order within a scope: nothing passes one that cannot be had now
    for (const PendingEvents::Ref& ref : due) {
      if (found.size() == request.limit) break;
      if (held_up.contains(ref.event.scope)) continue;
      if (std::optional<PendingEvent> event = read_event(ref)) {
        found.push_back(std::move(*event));
      } else {
        held_up.insert(ref.event.scope);
      }
    }
    if (found.size() == request.limit || due.size() < asked)
      return answer<std::vector<PendingEvent>>(reply, std::move(found));
  }
}

bool StoreImpl::settle_events(const SettleEventsRequest& request, Reply<std::size_t>& reply) {
  const Timestamp now = time_.now();
  WideView view(shards_);
  view.add(request.relay.scope);
  for (const std::string& id : request.delivered) view.add(event_scope(id), false);
  for (const FailedEvent& failed : request.failed) view.add(event_scope(failed.id), true);
  if (Result<Done> seen = view.look(); !seen) return answer<std::size_t>(reply, seen.error());
  if (Write* pending = view.pending()) {
    pending->waiting.push_back({Verb::settle_events, &request, &reply, reply.executor});
    return false;
  }
  if (Result<Done> current = check_relay(view.record(request.relay.scope), request.relay, now); !current)
    return answer<std::size_t>(reply, current.error());
  Parts parts;
  std::set<Scope> settled;
  for (const std::string& id : request.delivered) {
    const EventKey key = event_key(id);
    const std::optional<PendingEvent> event = events_.find(key);
    if (event && settled.insert(event_scope(id)).second)
      parts.push_back(removal_of(event_scope(id), *event, key));
  }
  for (const FailedEvent& failed : request.failed) {
    const Record* stored = view.record(event_scope(failed.id));
    std::optional<PendingEvent> event = stored ? pending_event(*stored) : std::nullopt;
    if (!event || event->set_aside || !settled.insert(event_scope(failed.id)).second) continue;
    ++event->attempts;
    event->due_at = now + failed.retry_after;
    event->last_error = failed.error;
    event->set_aside = failed.set_aside;
    parts.push_back(event_write(*event));
  }
  return submit_settled(view, std::move(parts), reply);
}

bool StoreImpl::retry_events(const RetryEventsRequest& request, Reply<std::size_t>& reply) {
  const Timestamp now = time_.now();
  std::vector<Scope> scopes;
  for (const std::string& id : request.ids) scopes.push_back(event_scope(id));
  if (request.ids.empty()) scopes = events_.all_set_aside();
  WideView view(shards_);
  for (const Scope& scope : scopes) view.add(scope);
  if (Result<Done> seen = view.look(); !seen) return answer<std::size_t>(reply, seen.error());
  if (Write* pending = view.pending()) {
    pending->waiting.push_back({Verb::retry_events, &request, &reply, reply.executor});
    return false;
  }
  Parts parts;
  std::set<Scope> retried;
  for (const Scope& scope : scopes) {
    const Record* stored = view.record(scope);
    std::optional<PendingEvent> event = stored ? pending_event(*stored) : std::nullopt;
    if (!event || !event->set_aside || !retried.insert(scope).second) continue;
    event->set_aside = false;
    event->attempts = 0;
    event->due_at = now;
    event->last_error.clear();
    parts.push_back(event_write(*event));
  }
  return submit_settled(view, std::move(parts), reply);
}

// The first of them carries the others.
bool StoreImpl::submit_settled(WideView& view, Parts parts, Reply<std::size_t>& reply) {
  if (parts.empty()) return answer<std::size_t>(reply, std::size_t{0});
  reply.value = parts.size();  // true once the write is
  std::unique_ptr<Write> write = std::move(parts.front());
  parts.erase(parts.begin());
  write->parts = std::move(parts);
  write->reply = &reply;
  write->executor = reply.executor;
  write->fail = &fail_reply<std::size_t>;
  submit_wide(view, std::move(write));
  return false;
}

bool StoreImpl::list_events(const ListEventsRequest& request, Reply<ListEventsReply>& reply) {
  const Result<EventPosition> position = parse_event_cursor(request.cursor);
  if (!position) return answer<ListEventsReply>(reply, position.error());
  const std::size_t limit = std::max<std::size_t>(1, request.limit);
  const std::vector<PendingEvents::Ref> found = events_.after(*position, request.set_aside_only, limit + 1);
  ListEventsReply page;
  for (std::size_t i = 0; i < std::min(limit, found.size()); ++i) {
    std::optional<PendingEvent> event = read_event(found[i]);
    page.events.push_back(event ? std::move(*event) : found[i].event);
  }
  if (found.size() > limit) page.cursor = event_cursor(page.events.back());
  return answer<ListEventsReply>(reply, std::move(page));
}

bool StoreImpl::outbox_stats(Reply<OutboxStats>& reply) {
  return answer<OutboxStats>(reply, events_.stats());
}

}  // namespace onceward::embedded
