#include "stores/memory/memory_outbox.hpp"

#include <algorithm>

namespace onceward::memory {
namespace {

constexpr std::size_t queued_bytes = 300;

std::size_t bytes_of(const Event& event) {
  return queued_bytes + sizeof(Event) + event.id.size() + event.type.size() + event.content_type.size() +
         event.payload.size();
}

PendingEvent whole(const QueuedEvent<Event>& queued) {
  PendingEvent pending = pending_event(queued);
  pending.event = queued.body;
  return pending;
}

}  // namespace

void MemoryOutbox::add(const Record& record, const Events& events, Timestamp now) {
  Partition& partition = partitions_[outbox_partition_of(record.scope)];
  const std::lock_guard lock(partition.mutex);
  for (const Event& event : events) {
    Queue::Queued queued;
    queued.sequence = sequence_.fetch_add(1, std::memory_order_relaxed) + 1;
    queued.scope = record.scope;
    queued.key = event_key(event.id);
    queued.created_at = queued.due_at = now;
    queued.body = event;
    if (partition.queue.add(std::move(queued))) bytes_.fetch_add(bytes_of(event), std::memory_order_relaxed);
  }
}

std::vector<PendingEvent> MemoryOutbox::fetch(const FetchEventsRequest& request, Timestamp now) {
  std::vector<PendingEvent> found;
  if (request.partition >= outbox_partitions) return found;
  Partition& partition = partitions_[request.partition];
  const std::lock_guard lock(partition.mutex);
  for (const Queue::Queued* queued : partition.queue.due(now, request.limit)) found.push_back(whole(*queued));
  return found;
}

void MemoryOutbox::remove(Queue& queue, const Queue::Queued& event) {
  bytes_.fetch_sub(bytes_of(event.body), std::memory_order_relaxed);
  queue.remove(event.sequence);
}

std::size_t MemoryOutbox::settle(const SettleEventsRequest& request, Timestamp now) {
  std::size_t settled = 0;
  for (Partition& partition : partitions_) {
    const std::lock_guard lock(partition.mutex);
    if (partition.queue.size() == 0) continue;
    for (const std::string& id : request.delivered) {
      const Queue::Queued* found = partition.queue.find(event_key(id));
      if (!found) continue;
      remove(partition.queue, *found);
      ++settled;
    }
    for (const FailedEvent& failed : request.failed) {
      Queue::Queued* found = partition.queue.find(event_key(failed.id));
      if (!found || found->set_aside) continue;
      partition.queue.fail(*found, failed.error, now + failed.retry_after, failed.set_aside);
      ++settled;
    }
  }
  return settled;
}

Result<ListEventsReply> MemoryOutbox::list(const ListEventsRequest& request) {
  Result<EventPosition> position = parse_event_cursor(request.cursor);
  if (!position) return position.error();
  const std::size_t limit = std::max<std::size_t>(1, request.limit);
  ListEventsReply page;
  for (; position->partition < outbox_partitions; position = EventPosition{position->partition + 1, 0}) {
    Partition& partition = partitions_[position->partition];
    const std::lock_guard lock(partition.mutex);
    const std::size_t left = limit - page.events.size();
    for (const Queue::Queued* queued :
         partition.queue.after(position->after, request.set_aside_only, left + 1)) {
      if (page.events.size() == limit) {
        page.cursor = event_cursor(page.events.back());
        return page;
      }
      page.events.push_back(whole(*queued));
    }
  }
  return page;
}

std::size_t MemoryOutbox::retry(const RetryEventsRequest& request, Timestamp now) {
  std::size_t retried = 0;
  for (Partition& partition : partitions_) {
    const std::lock_guard lock(partition.mutex);
    Queue& queue = partition.queue;
    const auto retry_one = [&](Queue::Queued* event) {
      retried += event && queue.retry(*event, now) ? 1 : 0;
    };
    for (const std::string& id : request.ids) retry_one(queue.find(event_key(id)));
    if (!request.ids.empty()) continue;
    for (const std::uint64_t sequence : queue.all_set_aside()) retry_one(queue.find(sequence));
  }
  return retried;
}

OutboxStats MemoryOutbox::stats() {
  OutboxStats stats;
  for (Partition& partition : partitions_) {
    const std::lock_guard lock(partition.mutex);
    partition.queue.add_to(stats);
  }
  return stats;
}

}  // namespace onceward::memory
