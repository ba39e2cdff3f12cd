// Segment: one file of the log. Shared by the shards' indexes, the writer and readers; what a reader
// holds stays readable even after the segment was given up and unlinked. Reading: any thread. Writing:
// whoever has the log's turn, and only to the active segment.
#pragma once

#include <memory>
#include <optional>
#include <variant>

#include "stores/embedded/file.hpp"
#include "stores/embedded/log_format.hpp"
#include "stores/embedded/recent_log.hpp"
#include "stores/embedded/sealed_index.hpp"

namespace onceward::embedded {

std::string segment_path(const std::string& folder, SegmentId id);
std::string index_path(const std::string& folder, SegmentId id);
// A spare has no number of its own; the next one may be made before the last one was renamed.
std::string spare_path(const std::string& folder, std::uint64_t which);
bool is_spare_name(const std::string& name);
// The id in a segment's or an index's file name.
std::optional<SegmentId> id_of_name(const std::string& name, const char* ending);

struct Segment {
  Segment(SegmentHeader segment_header, File segment_file)
      : header(segment_header), file(std::move(segment_file)) {}
  SegmentHeader header;
  File file;
  // What this process wrote last, perhaps of this segment; set before others see the segment.
  std::shared_ptr<const RecentLog> recent;

  SegmentId id() const { return header.id; }
};
using SegmentPtr = std::shared_ptr<Segment>;

// A segment that takes no more writes, with its index file.
struct Sealed {
  SegmentPtr segment;
  SealedIndex index;
};
using SealedPtr = std::shared_ptr<const Sealed>;

// What stands at a place of the log.
struct Removed {
  Scope scope;
};
using Entry = std::variant<Record, Removed>;

// Errc::unreadable when what is there is damaged.
Result<Entry> read_entry(const Segment& segment, std::uint32_t offset, std::uint32_t payload_bytes,
                         std::uint64_t prefix);

// The whole file, for a scan. Room at its end may be given back meanwhile, by sealing it.
Result<std::string> read_all(const File& file);

}  // namespace onceward::embedded
