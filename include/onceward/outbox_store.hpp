// OutboxStore: the events that were written with outcomes and wait to be sent. The store that keeps the
// records keeps them too, because they must become durable in the same step. Calling and errors are as in
// store.hpp.
//
// Events belong to partitions by the scope of their record. One relay works on a partition at a time: it
// holds a claim of a reserved operation, and hands that claim's fence to `settle`, which refuses one that is
// no longer the partition's (I3), so that a relay that was paused cannot undo what its successor has
// recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "onceward/store.hpp"

namespace onceward {

constexpr std::uint16_t outbox_partitions = 16;

inline std::uint16_t outbox_partition_of(const Scope& scope) { return scope.data[0] % outbox_partitions; }

struct PendingEvent {
  std::uint64_t sequence = 0;  // grows in the order of writing, within one record at least
  Scope scope;                 // of the record that it was written with: events of one scope keep their order
  Event event;
  Timestamp created_at{};
  Timestamp due_at{};  // not to be sent earlier (back-off)
  std::uint32_t attempts = 0;
  std::string last_error;
  bool set_aside = false;  // given up; kept until an operator retries it
};

struct FetchEventsRequest {
  std::uint16_t partition = 0;
  std::size_t limit = 100;
};

// One event that was not taken by the sink.
struct FailedEvent {
  std::string id;
  std::string error;
  Duration retry_after{};
  bool set_aside = false;
};

struct SettleEventsRequest {
  Fence relay;
  std::vector<std::string> delivered;  // ids; they are removed
  std::vector<FailedEvent> failed;
};

struct ListEventsRequest {
  bool set_aside_only = false;
  std::size_t limit = 100;
  std::string cursor;
};

struct ListEventsReply {
  std::vector<PendingEvent> events;
  std::string cursor;
};

struct RetryEventsRequest {
  std::vector<std::string> ids;  // empty: everything that was set aside
};

struct OutboxStats {
  std::uint64_t pending = 0;  // set aside not counted
  std::uint64_t set_aside = 0;
  Timestamp oldest_pending{};
};

class OutboxStore {
 public:
  virtual ~OutboxStore() = default;

  // What may be sent now, in order. An event behind an undelivered one of its scope that is not due yet
  // waits; one that was set aside is left out and holds nothing up. By the store's clock.
  virtual bool fetch_events(const FetchEventsRequest&, Reply<std::vector<PendingEvent>>&) = 0;
  // Idempotent: an id that is not there any more is passed over.
  virtual bool settle_events(const SettleEventsRequest&, Reply<std::size_t>&) = 0;
  virtual bool list_events(const ListEventsRequest&, Reply<ListEventsReply>&) = 0;
  // Makes events that were set aside due at once, with no attempts behind them. Replies how many.
  virtual bool retry_events(const RetryEventsRequest&, Reply<std::size_t>&) = 0;
  virtual bool outbox_stats(Reply<OutboxStats>&) = 0;
};

}  // namespace onceward
