#include "stores/embedded/pending_events.hpp"

namespace onceward::embedded {
namespace {

PendingEvents::Ref ref_of(const QueuedRef& queued) { return {pending_event(queued), queued.body}; }

}  // namespace

void PendingEvents::put(QueuedRef event) {
  std::uint64_t last = sequence_.load(std::memory_order_relaxed);
  while (last < event.sequence && !sequence_.compare_exchange_weak(last, event.sequence)) continue;
  Partition& partition = partition_of(event.scope);
  const std::lock_guard lock(partition.mutex);
  const Queue::Queued* before = partition.queue.find(event.key);
  if (before) {
    partition.queue.remove(before->sequence);
  } else {
    size_.fetch_add(1, std::memory_order_relaxed);
  }
  partition.queue.add(std::move(event));
}

void PendingEvents::remove(const Scope& record_scope, const EventKey& key) {
  Partition& partition = partition_of(record_scope);
  const std::lock_guard lock(partition.mutex);
  const Queue::Queued* found = partition.queue.find(key);
  if (!found) return;
  partition.queue.remove(found->sequence);
  size_.fetch_sub(1, std::memory_order_relaxed);
}

std::optional<PendingEvent> PendingEvents::find(const EventKey& key) {
  for (Partition& partition : partitions_) {
    const std::lock_guard lock(partition.mutex);
    if (const Queue::Queued* found = partition.queue.find(key)) return pending_event(*found);
  }
  return std::nullopt;
}

bool PendingEvents::contains(const EventKey& key) { return find(key).has_value(); }

std::vector<PendingEvents::Ref> PendingEvents::due(std::uint16_t number, Timestamp now, std::size_t limit) {
  std::vector<Ref> found;
  if (number >= outbox_partitions) return found;
  Partition& partition = partitions_[number];
  const std::lock_guard lock(partition.mutex);
  for (const Queue::Queued* queued : partition.queue.due(now, limit)) found.push_back(ref_of(*queued));
  return found;
}

std::vector<PendingEvents::Ref> PendingEvents::after(const EventPosition& position, bool set_aside_only,
                                                     std::size_t limit) {
  std::vector<Ref> found;
  std::uint64_t sequence = position.after;
  for (std::size_t number = position.partition; number < outbox_partitions; ++number, sequence = 0) {
    Partition& partition = partitions_[number];
    const std::lock_guard lock(partition.mutex);
    for (const Queue::Queued* queued : partition.queue.after(sequence, set_aside_only, limit - found.size()))
      found.push_back(ref_of(*queued));
  }
  return found;
}

std::vector<Scope> PendingEvents::all_set_aside() {
  std::vector<Scope> scopes;
  for (Partition& partition : partitions_) {
    const std::lock_guard lock(partition.mutex);
    for (const std::uint64_t sequence : partition.queue.all_set_aside())
      scopes.push_back(partition.queue.find(sequence)->body);
  }
  return scopes;
}

OutboxStats PendingEvents::stats() {
  OutboxStats stats;
  for (Partition& partition : partitions_) {
    const std::lock_guard lock(partition.mutex);
    partition.queue.add_to(stats);
  }
  return stats;
}

}  // namespace onceward::embedded
