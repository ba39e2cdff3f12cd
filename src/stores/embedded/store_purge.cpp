// Purging without scanning. The log goes from its oldest segment on: a segment whose records are all past
// their time is unlinked; a mostly dead one is given up after what lives was copied forward. Strictly
// oldest first, so that an old state of a record never outlives a newer one.
#include <algorithm>
#include <charconv>

#include "base/assert.hpp"
#include "core/transition.hpp"
#include "stores/embedded/scanned_index.hpp"
#include "stores/embedded/store_impl.hpp"

namespace onceward::embedded {
namespace {

constexpr std::uint64_t receipt_bytes_guess = 250;
constexpr int purge_rounds_max = 10;  // another round needs another segment sealed in between

// Where a pass stands: "o<segment>.<block>.<removed so far>" in the oldest segment, then "r" in memory;
// "e<prefix>" for an operator's purge.
struct OldestCursor {
  std::uint64_t segment = 0;
  std::uint64_t block = 0;
  std::uint64_t removed = 0;
};

bool parse_number(std::string_view& text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty() && text[0] == '.') text.remove_prefix(1);
  return true;
}

std::optional<OldestCursor> parse_oldest(std::string_view text) {
  OldestCursor cursor;
  if (text.empty()) return cursor;
  text.remove_prefix(1);
  if (!parse_number(text, cursor.segment) || !parse_number(text, cursor.block)) return std::nullopt;
  if (!parse_number(text, cursor.removed) || !text.empty()) return std::nullopt;
  return cursor;
}

std::string to_text(const OldestCursor& cursor) {
  return "o" + std::to_string(cursor.segment) + "." + std::to_string(cursor.block) + "." +
         std::to_string(cursor.removed);
}

Scope scope_with(std::uint64_t prefix) {
  Scope scope;
  for (std::size_t i = 0; i < 8; ++i)
    scope.data[i] = static_cast<std::uint8_t>((prefix << 2) >> (56 - 8 * i));
  return scope;
}

// Marks go when their time is over, whoever purges what; events when they were sent.
PurgeAction action_for(const Record& stored, const PurgeRequest& request, Timestamp now) {
  switch (role_of(stored)) {
    case Role::event:
      return PurgeAction::keep;
    case Role::mark:
      return purge_action(stored, {}, now);
    case Role::record:
      return purge_action(stored, request, now);
  }
  return PurgeAction::keep;
}

Error not_ours() { return {Errc::invalid, "the cursor is not one of this store"}; }

}  // namespace

struct StoreImpl::Cleaning {
  std::shared_ptr<const SealedList> list;
  const Sealed& sealed;
  const PurgeRequest& request;
  Timestamp now;
  WriteGroup& group;
  PurgeReply& reply;
  std::uint64_t removed;
};

bool StoreImpl::purge(const PurgeRequest& request, Reply<PurgeReply>& reply) {
  in_background([this, &request, &reply] {
    reply.value = purge_now(request);
    reply.next = nullptr;
    reply.executor->post(&reply);
  });
  return false;
}

Result<PurgeReply> StoreImpl::purge_now(const PurgeRequest& request) {
  const bool by_operator = request.final_too || request.operation || request.tenant || request.updated_before;
  if (!request.final_too && !time_.may_purge()) return PurgeReply{};
  const Timestamp now = time_.now();
  const char phase = request.cursor.empty() ? (by_operator ? 'e' : 'o') : request.cursor[0];
  if (by_operator != (phase == 'e')) return not_ours();
  switch (phase) {
    case 'e':
      return purge_everywhere(request, now);
    case 'o':
      return purge_oldest(request, now);
    case 'r':
      return purge_recent(request, now);
    default:
      return not_ours();
  }
}

void StoreImpl::start_write(Shard& shard, std::unique_lock<std::mutex>& lock, std::unique_ptr<Write> write,
                            WriteGroup& group) {
  write->group = &group;
  Write* started = write.release();
  shard.begin(*started);
  lock.unlock();
  encode(*started);
  group.add(started->bytes.size());
  writer_.submit(started);
}

// One record that may be due; what is busy is left for the next pass. Sealing moves a record without
// changing it: then it is looked for again. True: something was done about it.
bool StoreImpl::purge_one(const Scope& scope, const PurgeRequest& request, Timestamp now, WriteGroup& group,
                          PurgeReply& reply) {
  for (int round = 0; round < purge_rounds_max; ++round) {
    const Tried tried = try_purge_one(scope, request, now, group, reply);
    if (tried != Tried::moved) return tried == Tried::purged;
  }
  return false;
}

StoreImpl::Tried StoreImpl::try_purge_one(const Scope& scope, const PurgeRequest& request, Timestamp now,
                                          WriteGroup& group, PurgeReply& reply) {
  Shard& shard = shard_of(scope_prefix(scope));
  std::unique_lock lock(shard.mutex);
  const Place place = shard.find(scope);
  if (shard.stopped || (place.kind != Place::recent && place.kind != Place::sealed)) return Tried::left;
  lock.unlock();
  Result<std::optional<Record>> stored = read_place(place, scope);
  if (!stored || !*stored) return Tried::left;
  const PurgeAction action = action_for(**stored, request, now);
  if (action == PurgeAction::keep) return Tried::left;
  auto write = std::make_unique<Write>();
  write->scope = scope;
  write->role = role_of(**stored);
  const bool is_record = write->role == Role::record;
  if (action == PurgeAction::remove) {
    write->kind = EntryKind::removal;
    write->records_change = is_record ? -1 : 0;
  } else {
    write->record = std::make_unique<Record>(receipt_of(**stored));
  }
  lock.lock();
  if (shard.stopped) return Tried::left;
  if (!place.same_as(shard.find(scope))) return Tried::moved;
  start_write(shard, lock, std::move(write), group);
  if (is_record) ++(action == PurgeAction::remove ? reply.removed : reply.receipts);
  return Tried::purged;
}

Result<PurgeReply> StoreImpl::purge_everywhere(const PurgeRequest& request, Timestamp now) {
  std::uint64_t first = 0;
  if (!request.cursor.empty()) {
    std::string_view text = std::string_view(request.cursor).substr(1);
    if (!parse_number(text, first) || !text.empty()) return not_ours();
  }
  PurgeReply reply;
  WriteGroup group;
  const std::size_t chunk = std::max<std::size_t>(request.chunk, 1);
  const std::vector<std::uint64_t> prefixes = prefixes_from(first, chunk, Which::all);
  for (const std::uint64_t prefix : prefixes) {
    for (const Found& found : current_of(prefix)) {
      if (found.record && action_for(*found.record, request, now) != PurgeAction::keep) {
        purge_one(found.scope, request, now, group, reply);
        group.keep_pace();
      }
    }
  }
  if (!group.wait()) return Error{Errc::unavailable, "the purge could not be written"};
  if (prefixes.size() == chunk) reply.cursor = "e" + std::to_string(prefixes.back() + 1);
  return reply;
}

// What is due among the records that have no index file yet.
Result<PurgeReply> StoreImpl::purge_recent(const PurgeRequest& request, Timestamp now) {
  const std::size_t chunk = std::max<std::size_t>(request.chunk, 1);
  std::vector<Scope> due;
  for (const Shard& shard : shards_) {
    shard.look_through_recents(
        [&](const Recent& recent) { return recent.first_expiry <= now; },
        [&](const Recent& recent, const Scope& scope, const Slot& slot) {
          if (slot.state != removed_state && slot.expires_at <= now &&
              shard.find(scope).same_as({Place::recent, nullptr, nullptr, recent.segment, slot, {}})) {
            due.push_back(scope);
          }
          return due.size() < chunk;
        });
    if (due.size() == chunk) break;
  }
  PurgeReply reply;
  WriteGroup group;
  bool progressed = false;
  for (const Scope& scope : due) {
    progressed |= purge_one(scope, request, now, group, reply);
    group.keep_pace();
  }
  if (!group.wait()) return Error{Errc::unavailable, "the purge could not be written"};
  if (due.size() == chunk && progressed) reply.cursor = "r";
  return reply;
}

Result<PurgeReply> StoreImpl::purge_oldest(const PurgeRequest& request, Timestamp now) {
  std::optional<OldestCursor> cursor = parse_oldest(request.cursor);
  if (!cursor) return not_ours();
  PurgeReply reply;
  reply.cursor = "r";
  const std::shared_ptr<const SealedList> list = installed_list();
  if (list->empty()) return purge_recent(request, now);
  const SealedPtr oldest = list->oldest();
  if (cursor->segment != oldest->segment->id()) cursor = OldestCursor{oldest->segment->id(), 0, 0};
  const std::size_t blocks = std::max<std::size_t>(request.chunk / SealedIndex::block_entries, 1);
  if (is_wholly_gone(*oldest, now)) return count_gone(oldest, blocks);
  IndexReader index(*oldest);
  const bool goes_on = cursor->block != 0 || is_worth_cleaning(*list, index, now);
  mend_index(index);
  if (!goes_on) return purge_recent(request, now);
  WriteGroup group;
  Cleaning cleaning{list, *oldest, request, now, group, reply, cursor->removed};
  bool complete = true;
  const std::size_t end = std::min<std::size_t>(oldest->index.blocks(), cursor->block + blocks);
  for (std::size_t number = cursor->block; number < end && complete; ++number) {
    const Result<std::vector<IndexEntry>> entries = index.block(number);
    if (!entries) {
      complete = false;  // the segment cannot be read either: it goes when all that it holds is past its time
      break;
    }
    for (const IndexEntry& entry : *entries) {
      complete = clean_entry(cleaning, entry) && complete;
      group.keep_pace();
    }
  }
  if (!group.wait()) return Error{Errc::unavailable, "the purge could not be written"};
  if (!complete) return reply;
  if (end < oldest->index.blocks()) {
    reply.cursor = to_text({oldest->segment->id(), end, cleaning.removed});
    return reply;
  }
  reply.removed += static_cast<std::size_t>(cleaning.removed);
  give_up(oldest, cleaning.removed);
  reply.cursor = to_text({});
  return reply;
}

// A segment that goes whole needs no reading of its records; only how many go with it has to be counted,
// a few blocks of its index per call.
Result<PurgeReply> StoreImpl::count_gone(const SealedPtr& oldest, std::size_t blocks) {
  if (counting_.segment != oldest->segment->id()) counting_ = {oldest->segment->id(), 0, 0};
  const std::size_t end = std::min<std::size_t>(oldest->index.blocks(), counting_.block + blocks);
  std::shared_ptr<const SealedList> list = installed_list();
  IndexReader index(*oldest);
  for (; counting_.block < end; ++counting_.block) {
    const Result<std::vector<IndexEntry>> entries = index.block(counting_.block);
    if (!entries) continue;  // what was in it goes uncounted
    for (const IndexEntry& entry : *entries) {
      if (entry.is_record() && goes_with(list, *oldest, entry.prefix)) ++counting_.removed;
    }
  }
  PurgeReply reply;
  reply.cursor = to_text({});
  if (end < oldest->index.blocks()) return reply;
  reply.removed = static_cast<std::size_t>(counting_.removed);
  give_up(oldest, counting_.removed);
  return reply;
}

// Whether this segment has the last that is known of a prefix. From then on a claim that finds it there
// counts as the first of a new record: the old one has been counted out.
bool StoreImpl::goes_with(std::shared_ptr<const SealedList>& list, const Sealed& oldest,
                          std::uint64_t prefix) {
  Shard& shard = shard_of(prefix);
  for (;;) {
    std::vector<SealedPtr> holders;
    list->find(prefix, holders);
    for (const SealedPtr& sealed : holders) {
      if (sealed.get() == &oldest) break;
      const Result<std::vector<IndexEntry>> entries = entries_of(*sealed, prefix);
      if (entries && !entries->empty()) return false;
    }
    const std::lock_guard lock(shard.mutex);
    if (shard.sealed != list) {  // another segment was sealed meanwhile: look into that too
      list = shard.sealed;
      continue;
    }
    bool newer = false;
    shard.live.for_prefix(prefix, [&](const Scope&, const Live& live) { newer |= live.write != nullptr; });
    for (const Recent& recent : shard.recents) {
      recent.slots.for_prefix(prefix, [&](const Scope&, const Slot&) { newer = true; });
      for (const IndexEntry& damage : recent.damaged) newer |= damage.prefix == prefix;
    }
    shard.counted_out = {oldest.segment->id(), prefix};
    return !newer;
  }
}

// False: this entry keeps its segment from being given up now.
bool StoreImpl::clean_entry(Cleaning& cleaning, const IndexEntry& entry) {
  if (entry.state == removed_state) return true;  // nothing older is left for it to hide
  Result<Entry> stored =
      read_entry(*cleaning.sealed.segment, entry.offset, entry.payload_bytes, entry.prefix);
  if (stored) {
    Record* record = std::get_if<Record>(&*stored);
    return !record || copy_forward(cleaning, std::move(*record));
  }
  if (stored.error().code != Errc::unreadable) return false;
  if (entry.gone_at <= cleaning.now) {  // it would be gone by now
    if (goes_with(cleaning.list, cleaning.sealed, entry.prefix)) ++cleaning.removed;
    return true;
  }
  // It stays unreadable rather than becoming a miss (I5).
  auto write = std::make_unique<Write>();
  write->kind = EntryKind::damage;
  write->scope = scope_with(entry.prefix);
  append_damage_entry(entry.prefix, entry.gone_at, write->bytes);
  Shard& shard = shard_of(entry.prefix);
  std::unique_lock lock(shard.mutex);
  if (shard.stopped || shard.is_writing(write->scope)) return false;
  start_write(shard, lock, std::move(write), cleaning.group);
  return true;
}

bool StoreImpl::is_in_newer(const SealedList& list, const Sealed& than, const Scope& scope,
                            bool& certain) const {
  const std::uint64_t prefix = scope_prefix(scope);
  std::vector<SealedPtr> holders;
  list.find(prefix, holders);
  for (const SealedPtr& sealed : holders) {
    if (sealed.get() == &than) break;
    const Result<std::vector<IndexEntry>> entries = entries_of(*sealed, prefix);
    certain = certain && entries.has_value();
    if (!entries) continue;
    for (const IndexEntry& entry : *entries) {
      Result<Entry> stored = read_entry(*sealed->segment, entry.offset, entry.payload_bytes, prefix);
      if (!stored) {
        certain = false;  // it may be this record's newer state
        continue;
      }
      const Record* record = std::get_if<Record>(&*stored);
      if ((record ? record->scope : std::get<Removed>(*stored).scope) == scope) return true;
    }
  }
  return false;
}

bool StoreImpl::copy_forward(Cleaning& cleaning, Record record) {
  const Scope scope = record.scope;
  Shard& shard = shard_of(scope_prefix(scope));
  std::unique_lock lock(shard.mutex, std::defer_lock);
  for (;;) {
    bool certain = true;
    if (is_in_newer(*cleaning.list, cleaning.sealed, scope, certain)) return true;
    if (!certain) return false;
    lock.lock();
    if (shard.sealed == cleaning.list) break;
    cleaning.list = shard.sealed;  // another segment was sealed meanwhile: look into that too
    lock.unlock();
  }
  if (shard.stopped || shard.is_writing(scope)) return false;
  for (const Recent& recent : shard.recents) {
    // Still in memory too, the segment would pass for newer than itself, and its records would go with it.
    ONCEWARD_ASSERT(recent.segment != cleaning.sealed.segment);
    if (recent.slots.contains(scope)) return true;
  }
  auto write = std::make_unique<Write>();
  write->scope = scope;
  if (const Live* live = shard.live.find(scope)) {
    write->record = std::make_unique<Record>(*live->open);
  } else {
    if (shard.find(scope).kind == Place::damaged) return false;
    const PurgeAction action = action_for(record, cleaning.request, cleaning.now);
    if (action == PurgeAction::remove) {
      cleaning.removed += role_of(record) == Role::record ? 1 : 0;
      return true;
    }
    write->record =
        std::make_unique<Record>(action == PurgeAction::to_receipt ? receipt_of(record) : std::move(record));
    if (action == PurgeAction::to_receipt) ++cleaning.reply.receipts;
  }
  write->role = role_of(*write->record);
  start_write(shard, lock, std::move(write), cleaning.group);
  return true;
}

bool StoreImpl::is_wholly_gone(const Sealed& sealed, Timestamp now) const {
  if (sealed.index.summary().last_gone_at > now) return false;
  for (const IndexEntry& entry : sealed.index.open_entries()) {
    if (entry.state == damaged_state) return false;
    // An open entry has been superseded unless the record is open still; then it may need copying.
    bool still_open = false;
    const Shard& shard = shard_of(entry.prefix);
    const std::lock_guard lock(shard.mutex);
    shard.live.for_prefix(entry.prefix, [&](const Scope&, const Live&) { still_open = true; });
    shard.events.for_prefix(entry.prefix, [&](const Scope&, const Shard::Waits&) { still_open = true; });
    if (still_open) return false;
  }
  return true;
}

// Copying costs writing what lives; it pays when that is less than half of the segment, or less than
// what dead segments behind it would free.
bool StoreImpl::is_worth_cleaning(const SealedList& list, IndexReader& index, Timestamp now) const {
  const Sealed& oldest = *list.oldest();
  std::uint64_t live_bytes = 0;
  for (std::size_t number = 0; number < oldest.index.blocks(); ++number) {
    const Result<std::vector<IndexEntry>> entries = index.block(number);
    if (!entries) return false;
    for (const IndexEntry& entry : *entries) {
      if (entry.state == removed_state || entry.gone_at <= now) continue;
      const bool receipt_is_enough = entry.expires_s <= seconds_up(now);
      live_bytes += receipt_is_enough ? std::min<std::uint64_t>(entry.payload_bytes, receipt_bytes_guess)
                                      : entry.payload_bytes;
    }
  }
  if (live_bytes * 2 < oldest.index.summary().data_end) return true;
  std::uint64_t dead_behind = 0;
  for (const SealedPtr& sealed : list) {
    if (sealed->index.summary().last_gone_at <= now) dead_behind += sealed->index.summary().data_end;
  }
  return dead_behind > live_bytes;
}

void StoreImpl::give_up(const SealedPtr& sealed, std::uint64_t removed) {
  {
    const std::lock_guard change(list_mutex_);
    SealedList list = *sealed_list();
    ONCEWARD_ASSERT(list.oldest() == sealed);
    list.remove_oldest();
    install(std::make_shared<const SealedList>(std::move(list)));
  }
  const SegmentId id = sealed->segment->id();
  ops_.unlink(segment_path(folder_, id));
  ops_.unlink(index_path(folder_, id));
  ops_.sync_folder(folder_);
  writer_.count_removed(removed);
  supply_.retry();
  supply_.run([this] { group_segments(); });
}

}  // namespace onceward::embedded
