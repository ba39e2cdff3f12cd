#include "stores/embedded/shard.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "stores/embedded/scanned_index.hpp"

namespace onceward::embedded {
namespace {

Error unreadable_record() {
  return {Errc::unreadable, "the record is damaged on disk; `onceward store verify` names the place"};
}

const IndexEntry* damage_in(const Recent& recent, std::uint64_t prefix) {
  const auto at = std::find_if(recent.damaged.begin(), recent.damaged.end(),
                               [&](const IndexEntry& entry) { return entry.prefix == prefix; });
  return at == recent.damaged.end() ? nullptr : &*at;
}

}  // namespace

Place Shard::find(const Scope& scope) const {
  Place place;
  const std::uint64_t prefix = scope_prefix(scope);
  if (const Live* at = live.find(scope)) {
    place.kind = at->write ? Place::pending : Place::open;
    place.write = at->write;
    place.record = at->open.get();
    return place;
  }
  for (const Recent& recent : recents) {
    const Slot* at = recent.slots.find(scope);
    const IndexEntry* damage = recent.damaged.empty() ? nullptr : damage_in(recent, prefix);
    if (damage && (!at || at->offset < damage->offset)) {
      place.kind = Place::damaged;
      return place;
    }
    if (!at) continue;
    place.kind = Place::recent;
    place.segment = recent.segment;
    place.slot = *at;
    return place;
  }
  sealed->find(prefix, place.candidates);
  if (!place.candidates.empty()) place.kind = Place::sealed;
  return place;
}

void Shard::prefetch(const Scope& scope) const {
  live.prefetch(scope);
  for (const Recent& recent : recents) recent.slots.prefetch_tag(scope);
  sealed->prefetch(scope_prefix(scope));
}

void Shard::publish(Write& write) {
  Recent& recent = recents.front();
  if (write.kind == EntryKind::damage) {
    recent.damaged.push_back({scope_prefix(write.scope), Timestamp::max(), write.slot.offset,
                              write.slot.payload_bytes, damaged_state, ~0u});
    return forget(write);
  }
  recent.set(write.scope, write.slot);
  if (write.role == Role::event) {
    if (write.kind == EntryKind::record) {
      events[write.scope] = {};
    } else {
      events.erase(write.scope);
    }
    return forget(write);
  }
  const bool was_begun = live.change(write.scope, [&](Live& at) {
    at.write = nullptr;
    at.open.swap(write.record);
    return at.open != nullptr;
  });
  ONCEWARD_ASSERT(was_begun);
  pool.give(std::move(write.record));
}

void Shard::forget(const Write& write) {
  live.change(write.scope, [](Live& at) {
    at.write = nullptr;
    return at.open != nullptr;
  });
}

Result<std::vector<IndexEntry>> entries_of(const Sealed& sealed, std::uint64_t prefix) {
  Result<std::vector<IndexEntry>> found = sealed.index.find(prefix);
  if (!found) {
    found = scan_index(sealed);
    if (!found) return found.error();
    std::erase_if(*found, [&](const IndexEntry& entry) { return entry.prefix != prefix; });
  }
  std::sort(found->begin(), found->end(), [](const auto& a, const auto& b) { return a.offset > b.offset; });
  return found;
}

Result<std::optional<Record>> read_place(const Place& place, const Scope& scope, SegmentId* found_in) {
  const std::uint64_t prefix = scope_prefix(scope);
  if (place.kind == Place::damaged) return unreadable_record();
  if (place.kind == Place::recent) {
    if (place.slot.state == removed_state) return std::optional<Record>();
    Result<Entry> entry = read_entry(*place.segment, place.slot.offset, place.slot.payload_bytes, prefix);
    if (!entry) return entry.error();
    if (Record* record = std::get_if<Record>(&*entry)) return std::optional<Record>(std::move(*record));
    return unreadable_record();
  }
  for (const SealedPtr& sealed : place.candidates) {
    const Result<std::vector<IndexEntry>> entries = entries_of(*sealed, prefix);
    if (!entries) return entries.error();
    for (const IndexEntry& found : *entries) {
      if (found.state == damaged_state) return unreadable_record();
      Result<Entry> entry = read_entry(*sealed->segment, found.offset, found.payload_bytes, prefix);
      if (!entry) return entry.error();
      if (Record* record = std::get_if<Record>(&*entry)) {
        if (record->scope != scope) continue;
        if (found_in) *found_in = sealed->segment->id();
        return std::optional<Record>(std::move(*record));
      } else if (std::get<Removed>(*entry).scope == scope) {
        return std::optional<Record>();
      }
    }
  }
  return std::optional<Record>();
}

}  // namespace onceward::embedded
