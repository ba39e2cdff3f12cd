#include "stores/embedded/scanned_index.hpp"

#include <algorithm>

#include "stores/embedded/shard.hpp"

namespace onceward::embedded {
namespace {

bool has_prefix(const IndexEntry& entry, std::uint64_t prefix) { return entry.prefix == prefix; }

// The entries of one block and, of the prefix that the next one begins with, what may be in this one.
std::vector<IndexEntry> entries_in(const SealedIndex& index, std::size_t number,
                                   const std::vector<IndexEntry>& all) {
  const auto beginning_with = [&](std::uint64_t prefix) {
    return std::lower_bound(all.begin(), all.end(), prefix, [](const IndexEntry& entry, std::uint64_t value) {
      return entry.prefix < value;
    });
  };
  const bool is_last = number + 1 == index.blocks();
  const std::uint64_t next = is_last ? 0 : index.first_prefix(number + 1);
  const auto from = number == 0 ? all.begin() : beginning_with(index.first_prefix(number));
  auto to = is_last ? all.end() : beginning_with(next);
  const bool is_shared =
      !is_last && all.end() - to >= 2 && has_prefix(to[0], next) && has_prefix(to[1], next);
  while (is_shared && to != all.end() && has_prefix(*to, next)) ++to;
  return {from, to};
}

}  // namespace

void note_entry(ScannedEntry&& entry, SlotMap& slots, std::vector<IndexEntry>& damaged) {
  if (entry.damaged || entry.kind == EntryKind::damage) {
    const Timestamp gone = entry.damaged ? Timestamp::max() : entry.gone_at;
    damaged.push_back({entry.prefix, gone, entry.offset, entry.payload_bytes, damaged_state, ~0u});
  } else if (entry.kind == EntryKind::removal) {
    slots.set(entry.scope, {entry.offset, entry.payload_bytes, removed_state});
  } else {
    slots.set(entry.scope, slot_of(role_of(entry.record), entry.record, entry.offset, entry.payload_bytes));
  }
}

std::vector<IndexEntry> index_entries(const SlotMap& slots, const std::vector<IndexEntry>& damaged) {
  std::vector<IndexEntry> entries = damaged;
  entries.reserve(entries.size() + slots.size());
  for (const auto& [scope, slot] : slots) {
    const std::uint64_t prefix = scope_prefix(scope);
    // What came before a damaged entry of its scope is not the last word, and nobody can read the last.
    const bool is_overtaken = std::any_of(damaged.begin(), damaged.end(), [&](const IndexEntry& damage) {
      return damage.prefix == prefix && damage.offset > slot.offset;
    });
    if (is_overtaken) continue;
    entries.push_back(
        {prefix, slot.gone_at, slot.offset, slot.payload_bytes, slot.state, seconds_up(slot.expires_at)});
  }
  return entries;
}

Result<std::vector<IndexEntry>> scan_index(const Sealed& sealed) {
  const Result<std::string> bytes = read_all(sealed.segment->file);
  if (!bytes) return bytes.error();
  SlotMap slots;
  std::vector<IndexEntry> damaged;
  const Result<ScanResult> scan =
      scan_segment(*bytes, sealed.segment->header, sealed.index.summary().data_end,
                   [&](ScannedEntry&& entry) { note_entry(std::move(entry), slots, damaged); });
  if (!scan) return scan.error();
  std::vector<IndexEntry> entries = index_entries(slots, damaged);
  std::sort(entries.begin(), entries.end(), comes_before);
  return entries;
}

Result<std::vector<IndexEntry>> IndexReader::block(std::size_t number) {
  Result<std::vector<IndexEntry>> read = sealed_.index.block(number);
  if (read) return read;
  if (!scanned_ && !failed_) {
    Result<std::vector<IndexEntry>> scanned = scan_index(sealed_);
    scanned ? void(scanned_ = std::move(*scanned)) : void(failed_ = scanned.error());
  }
  if (failed_) return *failed_;
  return entries_in(sealed_.index, number, *scanned_);
}

}  // namespace onceward::embedded
