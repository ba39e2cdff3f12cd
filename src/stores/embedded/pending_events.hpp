// PendingEvents: which events of the embedded store wait to be sent, a queue per partition under its own
// mutex, which is taken last. Only what is synced is here; bodies are in the log. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <mutex>

#include "stores/embedded/internal_record.hpp"

namespace onceward::embedded {

class PendingEvents {
 public:
  // About 400 bytes each; beyond it new claims are refused, so that nobody runs out of memory because a
  // sink is down.
  static constexpr std::size_t most = 2'000'000;

  std::uint64_t next_sequence() { return sequence_.fetch_add(1, std::memory_order_relaxed) + 1; }
  bool is_full() const { return size_.load(std::memory_order_relaxed) >= most; }

  void put(QueuedRef event);  // new, or in another state than before
  void remove(const Scope& record_scope, const EventKey& key);

  bool contains(const EventKey& key);
  std::optional<PendingEvent> find(const EventKey& key);  // without the event itself
  struct Ref {
    PendingEvent event;  // without the event itself
    Scope scope;         // under which the rest is read
  };
  std::vector<Ref> due(std::uint16_t partition, Timestamp now, std::size_t limit);
  std::vector<Ref> after(const EventPosition& position, bool set_aside_only, std::size_t limit);
  std::vector<Scope> all_set_aside();
  OutboxStats stats();

 private:
  using Queue = EventQueue<Scope>;
  struct Partition {
    std::mutex mutex;
    Queue queue;
  };
  Partition& partition_of(const Scope& record_scope) {
    return partitions_[outbox_partition_of(record_scope)];
  }

  std::array<Partition, outbox_partitions> partitions_;
  std::atomic<std::uint64_t> sequence_{0};
  std::atomic<std::size_t> size_{0};
};

}  // namespace onceward::embedded
