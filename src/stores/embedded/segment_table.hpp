// SegmentTable: which of up to 64 sealed segments may hold a scope, from memory. It stands for all their
// filters: a question costs one cache line, or two, whatever their number, and answers with the segments.
// A bucketed hash table of 18 bits of each prefix and the segment's number: 3.5 bytes a record, about 1 in
// 12 000 wrong yeses. Filled by one thread, then immutable.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stores/embedded/filter.hpp"

namespace onceward::embedded {

class SegmentTable {
 public:
  static constexpr std::size_t segments_max = 64;

  explicit SegmentTable(std::size_t entries);
  ~SegmentTable();
  SegmentTable(const SegmentTable&) = delete;
  SegmentTable& operator=(const SegmentTable&) = delete;

  void add(std::uint64_t prefix, std::size_t segment);
  // Bit i: segment number i may hold it.
  std::uint64_t find(std::uint64_t prefix) const;
  void prefetch(std::uint64_t prefix) const { __builtin_prefetch(&buckets_[bucket_of(mixed(prefix))]); }

  std::size_t entries() const { return entries_; }
  std::size_t bytes() const { return count_ * sizeof(Bucket); }

 private:
  static constexpr std::size_t slots = 21;
  // A full bucket is continued in the next one.
  struct alignas(64) Bucket {
    std::uint16_t low[slots];  // of the hash
    std::uint8_t high[slots];  // two more bits of it, and the segment's number
    std::uint8_t used;
  };
  static_assert(sizeof(Bucket) == 64);

  std::size_t bucket_of(std::uint64_t hash) const {
    return static_cast<std::size_t>(((hash >> 32) * count_) >> 32);
  }
  std::size_t after(std::size_t bucket) const { return bucket + 1 == count_ ? 0 : bucket + 1; }

  std::size_t count_;
  std::size_t entries_ = 0;
  Bucket* buckets_;
};

}  // namespace onceward::embedded
