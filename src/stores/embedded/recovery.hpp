// Recovery: what the folder holds, read when the store is opened. Sealed segments are known by their
// index files; only the last segment, and any whose index is missing or damaged, is scanned.
#pragma once

#include "stores/embedded/scanned_index.hpp"
#include "stores/embedded/shard.hpp"

namespace onceward::embedded {

struct RecoveredSegment {
  SegmentPtr segment;
  std::uint64_t file_bytes = 0;
  bool header_damaged = false;
  ScanResult scan;
  SlotMap slots;
  std::vector<IndexEntry> damaged;
};

struct Recovered {
  std::vector<RecoveredSegment> recents;  // newest first; no index file yet
  SealedList sealed;
  std::vector<Record> open;       // as stored; their owner is dead. Held marks too
  std::vector<QueuedRef> events;  // that wait to be sent
  std::uint64_t sequence = 0;
  std::uint64_t records = 0;
  std::optional<Timestamp> written_at;
  std::uint64_t damaged = 0;
};

// `repair`: may write (index files, leftovers removed). Without it nothing is changed, and a segment
// without an index is scanned each time.
Result<Recovered> recover(FileOps& ops, const std::string& folder, bool repair);

}  // namespace onceward::embedded
