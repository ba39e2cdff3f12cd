// SealedList: the sealed segments, newest first, and from memory which of them may hold a scope. A segment
// begins with the filter of its index file; when there are many, runs of neighbours are given one
// SegmentTable instead, so that a new key asks a handful of tables and not one filter per segment. Shared
// by the shards and immutable there: who changes it changes a copy.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "stores/embedded/segment.hpp"
#include "stores/embedded/segment_table.hpp"

namespace onceward::embedded {

class SealedList {
 public:
  auto begin() const { return segments_.begin(); }
  auto end() const { return segments_.end(); }
  std::size_t size() const { return segments_.size(); }
  bool empty() const { return segments_.empty(); }
  const SealedPtr& oldest() const { return segments_.back(); }

  // Those that may hold the prefix, newest first, behind what `found` has.
  void find(std::uint64_t prefix, std::vector<SealedPtr>& found) const;
  void prefetch(std::uint64_t prefix) const;  // what find() looks at
  // In memory, for finding.
  std::uint64_t filter_bytes() const;
  std::size_t filters() const { return parts_.size(); }

  void add_newest(SealedPtr sealed, Filter filter);
  void add_oldest(SealedPtr sealed, Filter filter);
  void remove_oldest();

  // A run that should be given a table: small ones of many neighbours, or one much of which has gone.
  struct Run {
    std::vector<SealedPtr> segments;
    int level = 0;
    std::size_t entries() const;
  };
  std::optional<Run> to_be_grouped() const;
  // The oldest ones of the run may have gone since.
  void group(const Run& run, std::shared_ptr<const SegmentTable> table);

 private:
  static constexpr int large_level = 2;          // one segment, some, as many as a table can have
  static constexpr std::size_t small_group = 8;  // segments

  // Neighbours, newest first, as many as are left of them.
  struct Part {
    std::size_t count = 0;
    int level = 0;
    std::shared_ptr<const Filter> filter;       // of one segment, or
    std::shared_ptr<const SegmentTable> table;  // of several; its numbers count from the newest one
  };
  Run run_of(std::size_t first_part, std::size_t last_part, int level) const;
  bool is_mostly_needed(const Part& part, std::size_t first) const;

  std::vector<SealedPtr> segments_;
  std::vector<Part> parts_;  // newest first: levels only grow
};

}  // namespace onceward::embedded
