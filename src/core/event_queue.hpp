// EventQueue: the events of one partition that wait to be sent, in memory: who may go now, who waits behind
// whom, who was set aside. `Body` is what a store keeps of the event itself: all of it, or where it lies.
// Guarded by its owner. An event costs about 300 bytes here besides its body and its last error.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/scope.hpp"
#include "onceward/outbox_store.hpp"

namespace onceward {

// A digest of an event's id: ids are found by it, and need not be kept.
using EventKey = std::array<std::uint64_t, 2>;
EventKey event_key(std::string_view id);

struct EventKeyHash {
  std::size_t operator()(const EventKey& key) const { return key[0]; }
};

// Whether `relay` is the live claim of its record: what is stale may settle nothing (I3).
Result<Done> check_relay(const Record* stored, const Fence& relay, Timestamp now);

// Where a page of a list ended: a cursor is "<partition>.<sequence>" of its last event.
struct EventPosition {
  std::size_t partition = 0;
  std::uint64_t after = 0;
};
std::string event_cursor(const PendingEvent& last);
Result<EventPosition> parse_event_cursor(std::string_view cursor);

template <class Body>
struct QueuedEvent {
  std::uint64_t sequence = 0;
  Scope scope;
  EventKey key{};
  Timestamp created_at{};
  Timestamp due_at{};
  std::uint32_t attempts = 0;
  bool set_aside = false;
  std::unique_ptr<const std::string> last_error;  // null: none
  Body body{};
};

// Without the event itself.
template <class Body>
PendingEvent pending_event(const QueuedEvent<Body>& queued) {
  PendingEvent pending;
  pending.sequence = queued.sequence;
  pending.scope = queued.scope;
  pending.created_at = queued.created_at;
  pending.due_at = queued.due_at;
  pending.attempts = queued.attempts;
  if (queued.last_error) pending.last_error = *queued.last_error;
  pending.set_aside = queued.set_aside;
  return pending;
}

template <class Body>
class EventQueue {
 public:
  using Queued = QueuedEvent<Body>;

  std::size_t size() const { return events_.size(); }
  std::size_t set_aside() const { return aside_.size(); }
  std::size_t pending() const { return events_.size() - aside_.size(); }
  // Of what is not set aside.
  std::optional<Timestamp> oldest_pending() const {
    for (const auto& [sequence, event] : events_)
      if (!event.set_aside) return event.created_at;
    return std::nullopt;
  }
  void add_to(OutboxStats& stats) const {
    stats.pending += pending();
    stats.set_aside += set_aside();
    const std::optional<Timestamp> oldest = oldest_pending();
    if (oldest && (stats.oldest_pending == Timestamp{} || *oldest < stats.oldest_pending))
      stats.oldest_pending = *oldest;
  }

  // False: an event of this id is here already, and stays as it is.
  bool add(Queued event) {
    const std::uint64_t sequence = event.sequence;
    if (!by_key_.emplace(event.key, sequence).second) return false;
    Queued& kept = events_.emplace(sequence, std::move(event)).first->second;
    if (kept.set_aside) {
      aside_.insert(sequence);
    } else {
      queue_up(kept);
    }
    return true;
  }

  Queued* find(const EventKey& key) {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : &events_.at(found->second);
  }
  Queued* find(std::uint64_t sequence) {
    const auto found = events_.find(sequence);
    return found == events_.end() ? nullptr : &found->second;
  }

  void remove(std::uint64_t sequence) {
    const auto found = events_.find(sequence);
    if (found == events_.end()) return;
    by_key_.erase(found->second.key);
    if (!aside_.erase(sequence)) leave_queue(found->second);
    events_.erase(found);
  }

  // An attempt that failed: due again later, or given up.
  void fail(Queued& event, std::string error, Timestamp due_at, bool set_aside) {
    if (event.set_aside) return;
    leave_queue(event);
    ++event.attempts;
    event.due_at = due_at;
    event.set_aside = set_aside;
    event.last_error = std::make_unique<const std::string>(std::move(error));
    if (set_aside) {
      aside_.insert(event.sequence);
    } else {
      queue_up(event);
    }
  }

  // Due at once, as if never tried; false: it was not set aside.
  bool retry(Queued& event, Timestamp now) {
    if (!event.set_aside) return false;
    aside_.erase(event.sequence);
    event.set_aside = false;
    event.attempts = 0;
    event.due_at = now;
    event.last_error.reset();
    queue_up(event);
    return true;
  }

  std::vector<std::uint64_t> all_set_aside() const { return {aside_.begin(), aside_.end()}; }

  // In the order of their sequence; looks only at what may go.
  std::vector<const Queued*> due(Timestamp now, std::size_t limit) {
    while (!later_.empty() && later_.begin()->first <= now) {
      ready_.insert(later_.begin()->second);
      later_.erase(later_.begin());
    }
    std::vector<const Queued*> found;
    std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> behind;
    auto head = ready_.begin();
    while (found.size() < limit && (head != ready_.end() || !behind.empty())) {
      std::uint64_t sequence = 0;
      if (behind.empty() || (head != ready_.end() && *head < behind.top())) {
        sequence = *head++;
      } else {
        sequence = behind.top();
        behind.pop();
      }
      const Queued& event = events_.at(sequence);
      if (event.due_at > now) continue;  // the clock was set back
      found.push_back(&event);
      const auto next = by_scope_.upper_bound({scope_prefix(event.scope), sequence});
      if (next == by_scope_.end() || next->first != scope_prefix(event.scope)) continue;
      if (events_.at(next->second).due_at <= now) behind.push(next->second);
    }
    return found;
  }

  // From `after` on, for lists.
  std::vector<const Queued*> after(std::uint64_t sequence, bool set_aside_only, std::size_t limit) const {
    std::vector<const Queued*> found;
    if (set_aside_only) {
      for (auto at = aside_.upper_bound(sequence); at != aside_.end() && found.size() < limit; ++at)
        found.push_back(&events_.at(*at));
      return found;
    }
    for (auto at = events_.upper_bound(sequence); at != events_.end() && found.size() < limit; ++at)
      found.push_back(&at->second);
    return found;
  }

 private:
  using Behind = std::set<std::pair<std::uint64_t, std::uint64_t>>;  // scope's prefix, sequence

  std::uint64_t head_of(std::uint64_t prefix) const {
    const auto head = by_scope_.lower_bound({prefix, 0});
    return head == by_scope_.end() || head->first != prefix ? 0 : head->second;
  }
  // Only the head of a scope is ever ready or waiting for its time.
  void place(std::uint64_t sequence) {
    if (sequence == 0) return;
    later_.emplace(events_.at(sequence).due_at, sequence);
  }
  void displace(std::uint64_t sequence) {
    if (sequence == 0) return;
    ready_.erase(sequence);
    later_.erase({events_.at(sequence).due_at, sequence});
  }
  void queue_up(const Queued& event) {
    const std::uint64_t prefix = scope_prefix(event.scope);
    const std::uint64_t before = head_of(prefix);
    by_scope_.emplace(prefix, event.sequence);
    if (before != 0 && before < event.sequence) return;
    displace(before);
    place(event.sequence);
  }
  void leave_queue(const Queued& event) {
    const std::uint64_t prefix = scope_prefix(event.scope);
    const bool was_head = head_of(prefix) == event.sequence;
    if (was_head) displace(event.sequence);
    by_scope_.erase({prefix, event.sequence});
    if (was_head) place(head_of(prefix));
  }

  std::map<std::uint64_t, Queued> events_;  // by sequence, which is never 0
  std::unordered_map<EventKey, std::uint64_t, EventKeyHash> by_key_;
  Behind by_scope_;
  std::set<std::uint64_t> ready_;                        // heads that are due
  std::set<std::pair<Timestamp, std::uint64_t>> later_;  // heads, by when they are due
  std::set<std::uint64_t> aside_;
};

}  // namespace onceward
