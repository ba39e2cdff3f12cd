#include "stores/embedded/shard.hpp"

#include <algorithm>

#include "core/transition.hpp"
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

bool is_open(State state) {
  return state == State::claimed || state == State::processing || state == State::unknown;
}

Slot slot_of(Role role, const Record& record, std::uint32_t offset, std::uint32_t payload_bytes) {
  Slot slot{offset, payload_bytes, static_cast<std::uint8_t>(record.state), Timestamp::max(),
            Timestamp::max()};
  if (const std::optional<Timestamp> gone = gone_at(record)) {
    slot.gone_at = *gone;
    slot.expires_at = record.state == State::expired ? *gone : record.expires_at;
  }
  if (role == Role::event) slot.state = event_state;
  if (role == Role::mark) slot.state = is_open(record.state) ? held_mark_state : kept_mark_state;
  return slot;
}

Place Shard::find(const Scope& scope) const {
  Place place;
  const std::uint64_t prefix = scope_prefix(scope);
  if (Write* const* write = writes.find(scope)) {
    place.kind = Place::pending;
    place.write = *write;
    return place;
  }
  if (const Record* record = open.find(scope)) {
    place.kind = Place::open;
    place.record = record;
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

void Shard::publish(Write& write) {
  Recent& recent = recents.front();
  const auto payload_bytes = static_cast<std::uint32_t>(write.bytes.size() - entry_header_bytes);
  switch (write.kind) {
    case EntryKind::record:
      recent.set(write.scope, slot_of(write.role, write.record, write.offset, payload_bytes));
      if (write.role == Role::event) {
        events.set(write.scope, {});
      } else if (is_open(write.record.state)) {
        open.set(write.scope, std::move(write.record));
      } else {
        open.erase(write.scope);
      }
      break;
    case EntryKind::removal:
      recent.set(write.scope, {write.offset, payload_bytes, removed_state});
      open.erase(write.scope);
      if (write.role == Role::event) events.erase(write.scope);
      break;
    case EntryKind::damage: {
      const std::uint64_t prefix = scope_prefix(write.scope);
      recent.damaged.push_back({prefix, Timestamp::max(), write.offset, payload_bytes, damaged_state, ~0u});
      break;
    }
  }
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
