// Reading a segment from its start, as recovery does: what it holds, where it ends, what is damaged.
// Pure: bytes in, values out. It tells a torn tail (an unfinished last write, which nobody was told
// about: cut) from damage (bytes that were acknowledged and changed since: unreadable, never a miss).
#pragma once

#include <functional>
#include <string_view>

#include "onceward/result.hpp"
#include "stores/embedded/log_format.hpp"

namespace onceward::embedded {

struct ScannedEntry {
  EntryKind kind = EntryKind::record;
  std::uint64_t prefix = 0;
  std::uint32_t offset = 0;  // of the entry's header in the segment
  std::uint32_t payload_bytes = 0;
  bool damaged = false;  // something stood here for `prefix` and cannot be read
  Scope scope;           // record and removal
  Record record;         // record
  Timestamp gone_at{};   // damage
};

struct ScanResult {
  std::uint64_t end = 0;        // behind the last batch that counts; the next one goes here
  std::uint64_t dirty_end = 0;  // behind the last byte that is not zero, at least `end`
  std::uint64_t sequence = 0;
  std::uint64_t records = 0;
  std::optional<Timestamp> written_at;
  std::uint64_t damaged = 0;
  bool torn = false;
  bool closed = false;
};

// `bytes` is the whole segment including its header. `trusted_end`, when not zero, is where the next
// segment says that this one ends. Errc::unreadable: damage that cannot be laid at any record's door,
// so that opening the store would turn it into a miss.
Result<ScanResult> scan_segment(std::string_view bytes, const SegmentHeader& header,
                                std::uint64_t trusted_end, const std::function<void(ScannedEntry&&)>& visit);

}  // namespace onceward::embedded
