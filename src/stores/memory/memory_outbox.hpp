// MemoryOutbox: the pending events of the memory store, a queue per partition, each under its own mutex,
// which is taken last: whoever holds it takes no other. The store calls it within the step that stores
// the outcome.
#pragma once

#include <array>
#include <atomic>
#include <mutex>

#include "core/event_queue.hpp"

namespace onceward::memory {

class MemoryOutbox {
 public:
  void add(const Record& record, const Events& events, Timestamp now);

  std::vector<PendingEvent> fetch(const FetchEventsRequest& request, Timestamp now);
  std::size_t settle(const SettleEventsRequest& request, Timestamp now);  // the relay has been checked
  Result<ListEventsReply> list(const ListEventsRequest& request);
  std::size_t retry(const RetryEventsRequest& request, Timestamp now);
  OutboxStats stats();
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  using Queue = EventQueue<Event>;
  struct Partition {
    std::mutex mutex;
    Queue queue;
  };

  void remove(Queue& queue, const Queue::Queued& event);

  std::array<Partition, outbox_partitions> partitions_;
  std::atomic<std::uint64_t> sequence_{0};
  std::atomic<std::size_t> bytes_{0};
};

}  // namespace onceward::memory
