// Shard: a sixteenth of the index, by scope. In memory it has every record that is not final, where
// the records of the active segment are, and the sealed segments' filters. One mutex each, held for
// lookups in memory only, never over a disk access.
#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "core/scope.hpp"
#include "stores/embedded/scope_map.hpp"
#include "stores/embedded/sealed_list.hpp"
#include "stores/embedded/slot_map.hpp"
#include "stores/embedded/write.hpp"

namespace onceward::embedded {

// The in-memory index of a segment that has no index file yet: the active one, or one being sealed.
struct Recent {
  SegmentPtr segment;
  SlotMap slots;
  std::vector<IndexEntry> damaged;            // whose scope is known only by prefix
  Timestamp first_expiry = Timestamp::max();  // nothing in it is due before

  void set(const Scope& scope, const Slot& slot) {
    slots.set(scope, slot);
    if (slot.state != removed_state) first_expiry = std::min(first_expiry, slot.expires_at);
  }
};

// What is in memory of a scope: one of the two, or both.
struct Live {
  Write* write = nullptr;        // on its way to the disk
  std::unique_ptr<Record> open;  // true, and not final; held marks too
};

// What a shard knows of a scope without touching the disk.
struct Place {
  enum Kind { none, pending, open, recent, sealed, damaged } kind = none;
  Write* write = nullptr;             // pending
  const Record* record = nullptr;     // open; valid while the shard is locked
  SegmentPtr segment;                 // recent
  Slot slot;                          // recent
  std::vector<SealedPtr> candidates;  // sealed: those whose filter says maybe, newest first

  bool same_as(const Place& other) const {
    return kind == other.kind && segment == other.segment && slot.offset == other.slot.offset &&
           candidates == other.candidates;
  }
};

inline std::size_t shard_number(std::uint64_t prefix, std::size_t shards) { return (prefix >> 40) % shards; }

struct Shard {
  // The active segment's index, recents.front(): nobody but the writer changes it, who thus may look without
  // the lock.
  const SlotMap* filling = nullptr;

  mutable std::mutex mutex;  // guards everything below
  ScopeMap<Live> live;
  WritePool pool;
  struct Waits {};
  ScopeMap<Waits> events;     // by the event's own scope; the queues know more
  std::list<Recent> recents;  // newest first; never empty once the store is open
  std::shared_ptr<const SealedList> sealed = std::make_shared<SealedList>();
  // The oldest segment is about to go: its records up to this prefix are no longer counted.
  struct CountedOut {
    SegmentId segment = 0;
    std::uint64_t prefix = 0;
  } counted_out;
  bool stopped = false;  // a sync failed and it is not yet settled what became of it

  void begin_segment(Recent recent) {
    recents.push_front(std::move(recent));
    filling = &recents.front().slots;
  }
  Place find(const Scope& scope) const;
  void prefetch(const Scope& scope) const;  // what find() looks at when the scope is new
  bool is_writing(const Scope& scope) const {
    const Live* at = live.find(scope);
    return at && at->write;
  }
  // From now on the scope's verbs wait behind this one.
  void begin(Write& write) { live[write.scope].write = &write; }
  // They do not any more: it is synced, and becomes visible ...
  void publish(Write& write);
  // ... or it never was.
  void forget(const Write& write);
  template <class Visit>  // (scope, record)
  void for_each_open(Visit visit) const {
    live.for_each([&](const Scope& scope, const Live& at) {
      if (at.open) visit(scope, std::as_const(*at.open));
    });
  }

  // Visits (recent, scope, slot) where `wanted(recent)`, a few at a time, so that nobody waits long for the
  // shard; what moves meanwhile may be seen twice or not at all. Until `visit` says false.
  template <class Wanted, class Visit>
  void look_through_recents(Wanted wanted, Visit visit) const {
    constexpr std::size_t cells_at_once = 512;
    std::size_t at = 0;
    for (std::size_t number = 0;;) {
      const std::lock_guard lock(mutex);
      if (number >= recents.size()) return;
      const Recent& recent = *std::next(recents.begin(), static_cast<std::ptrdiff_t>(number));
      bool goes_on = true;
      const bool has_more =
          wanted(recent) &&
          recent.slots.visit_some(at, cells_at_once, [&](const auto& scope, const auto& slot) {
            goes_on = goes_on && visit(recent, scope, slot);
          });
      if (!goes_on) return;
      if (has_more) continue;
      ++number;
      at = 0;
    }
  }
};

// Reads what `place` (recent or sealed) stands for. Nothing: there is no such record.
// `found_in` becomes the segment that has it.
Result<std::optional<Record>> read_place(const Place& place, const Scope& scope,
                                         SegmentId* found_in = nullptr);

// The entries of one prefix in one sealed segment, newest first. An index that cannot be read is
// gone round by reading the segment itself.
Result<std::vector<IndexEntry>> entries_of(const Sealed& sealed, std::uint64_t prefix);

}  // namespace onceward::embedded
