// What a segment's own bytes say that its index is, for when the index file is missing or damaged.
#pragma once

#include <optional>
#include <vector>

#include "stores/embedded/log_scan.hpp"
#include "stores/embedded/segment.hpp"
#include "stores/embedded/slot_map.hpp"

namespace onceward::embedded {

// Later entries of a scope take the place of earlier ones.
void note_entry(ScannedEntry&& entry, SlotMap& slots, std::vector<IndexEntry>& damaged);

// The entries of an index file for a scanned or active segment.
std::vector<IndexEntry> index_entries(const SlotMap& slots, const std::vector<IndexEntry>& damaged);

// By scanning the segment; sorted as in its file.
Result<std::vector<IndexEntry>> scan_index(const Sealed& sealed);

// Reads a sealed index block by block; a block that cannot be read is told from the segment, which is
// scanned once at most. One thread.
class IndexReader {
 public:
  explicit IndexReader(const Sealed& sealed) : sealed_(sealed) {}
  Result<std::vector<IndexEntry>> block(std::size_t number);

  const Sealed& sealed() const { return sealed_; }
  // The whole index, if some block could not be read and the segment was.
  const std::optional<std::vector<IndexEntry>>& scanned() const { return scanned_; }

 private:
  const Sealed& sealed_;
  std::optional<std::vector<IndexEntry>> scanned_;
  std::optional<Error> failed_;
};

}  // namespace onceward::embedded
