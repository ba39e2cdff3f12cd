// The index file of a sealed segment: which scopes it holds and where. Sorted blocks on disk, each with
// its checksum; in memory only the first prefix of each block, and elsewhere the filter (sealed_list.hpp).
// Immutable; any thread. A damaged index is rebuilt from its segment, which has everything.
#pragma once

#include <algorithm>
#include <vector>

#include "stores/embedded/file.hpp"
#include "stores/embedded/filter.hpp"
#include "stores/embedded/log_format.hpp"

namespace onceward::embedded {

// What an index says of an entry: a record's state, or one of these.
constexpr std::uint8_t removed_state = 0;
constexpr std::uint8_t held_mark_state = 8;  // without an end yet
constexpr std::uint8_t kept_mark_state = 9;
constexpr std::uint8_t event_state = 10;
constexpr std::uint8_t damaged_state = 255;

// Of what stays in memory: a record that is not final, a held mark, an event that waits.
bool is_open_state(std::uint8_t state);

struct IndexEntry {
  std::uint64_t prefix = 0;
  Timestamp gone_at = Timestamp::max();  // max: not by itself
  std::uint32_t offset = 0;
  std::uint32_t payload_bytes = 0;
  std::uint8_t state = removed_state;
  std::uint32_t expires_s = ~0u;  // seconds since 1970, rounded up: from then on a receipt is enough

  bool is_open() const;
  bool is_record() const;  // one that the store counts, unless damaged
};

// What the scan of the whole segment would tell, so that a restart need not scan it.
struct IndexSummary {
  SegmentId segment = 0;
  std::uint64_t data_end = 0;
  std::uint64_t sequence = 0;
  std::uint64_t records = 0;
  Timestamp written_at{};
  std::uint64_t entries = 0;
  Timestamp last_gone_at{};  // of the records that go by themselves
  std::uint64_t removals = 0;
};

std::uint32_t seconds_up(Timestamp time);

// The order of an index.
inline bool comes_before(const IndexEntry& a, const IndexEntry& b) {
  return a.prefix != b.prefix ? a.prefix < b.prefix : a.offset < b.offset;
}

class SealedIndex {
 public:
  static constexpr std::size_t block_bytes = 4096;
  static constexpr std::size_t entry_bytes = 32;
  static constexpr std::size_t block_entries = (block_bytes - 8) / entry_bytes;

  // Writes `path` whole or not at all: under another name first, synced, then renamed.
  static Result<Done> write(FileOps& ops, const std::string& path, IndexSummary summary,
                            std::vector<IndexEntry> entries);
  // Errc::not_found when there is none, Errc::unreadable when it is damaged or of another format.
  static Result<SealedIndex> open(FileOps& ops, const std::string& path, SegmentId segment);

  const IndexSummary& summary() const { return summary_; }
  const std::vector<IndexEntry>& open_entries() const { return open_; }
  // What is to be asked before this index; it is nobody's afterwards.
  Filter take_filter() { return std::move(filter_); }
  std::size_t blocks() const { return first_.size(); }
  std::uint64_t file_bytes() const { return blocks_at_ + blocks() * block_bytes; }

  // Every entry of this prefix; usually none or one. Reads one block.
  Result<std::vector<IndexEntry>> find(std::uint64_t prefix) const;
  Result<std::vector<IndexEntry>> block(std::size_t number) const;
  // The first block that may hold this prefix or a later one; blocks() when there is none.
  std::size_t block_for(std::uint64_t prefix) const;
  std::size_t entries_in(std::size_t block) const {
    return std::min<std::size_t>(summary_.entries - block * block_entries, block_entries);
  }
  std::uint64_t first_prefix(std::size_t block) const { return first_[block]; }

 private:
  SealedIndex(File file) : file_(std::move(file)) {}
  File file_;
  IndexSummary summary_;
  std::uint64_t blocks_at_ = 0;
  std::vector<IndexEntry> open_;
  std::vector<std::uint64_t> first_;
  Filter filter_;
};

}  // namespace onceward::embedded
