#include "stores/embedded/segment_table.hpp"

#include <sys/mman.h>

#include <cstring>
#include <new>

#include "base/assert.hpp"

namespace onceward::embedded {
namespace {

using Lanes [[gnu::vector_size(16)]] = std::uint16_t;

std::uint16_t low_of(std::uint64_t hash) { return static_cast<std::uint16_t>(hash); }
std::uint8_t high_of(std::uint64_t hash) { return static_cast<std::uint8_t>((hash >> 16) << 6); }

// Whether `low` stands among the first 24 numbers of a bucket, which are its 21 and a bit of what follows.
bool has_lane(const void* bucket, std::uint16_t low) {
  Lanes lanes[3];
  std::memcpy(lanes, bucket, sizeof lanes);
  const auto equal = (lanes[0] == low) | (lanes[1] == low) | (lanes[2] == low);
  std::uint64_t halves[2];
  std::memcpy(halves, &equal, sizeof halves);
  return (halves[0] | halves[1]) != 0;
}

}  // namespace

// Seven eighths full at most, so that few buckets overflow. Mapped, for a large one is asked at random places
// and should stand in huge pages; where there are none, everything works the same.
SegmentTable::SegmentTable(std::size_t entries) : count_(entries * 8 / (slots * 7) + 1) {
  void* mapped = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  ::madvise(mapped, bytes(), MADV_HUGEPAGE);
  buckets_ = static_cast<Bucket*>(mapped);
}

SegmentTable::~SegmentTable() { ::munmap(buckets_, bytes()); }

void SegmentTable::add(std::uint64_t prefix, std::size_t segment) {
  ONCEWARD_ASSERT(segment < segments_max);
  ONCEWARD_ASSERT(entries_ + 1 < count_ * slots);  // a search ends at a bucket that is not full
  ++entries_;
  const std::uint64_t hash = mixed(prefix);
  std::size_t at = bucket_of(hash);
  while (buckets_[at].used == slots) at = after(at);
  Bucket& bucket = buckets_[at];
  bucket.low[bucket.used] = low_of(hash);
  bucket.high[bucket.used] = static_cast<std::uint8_t>(high_of(hash) | segment);
  ++bucket.used;
}

std::uint64_t SegmentTable::find(std::uint64_t prefix) const {
  const std::uint64_t hash = mixed(prefix);
  const std::uint16_t low = low_of(hash);
  std::uint64_t found = 0;
  for (std::size_t at = bucket_of(hash);; at = after(at)) {
    const Bucket& bucket = buckets_[at];
    if (has_lane(&bucket, low)) {
      for (std::size_t i = 0; i < bucket.used; ++i) {
        if (bucket.low[i] == low && (bucket.high[i] & 0xc0) == high_of(hash))
          found |= std::uint64_t{1} << (bucket.high[i] & 0x3f);
      }
    }
    if (bucket.used < slots) return found;
  }
}

}  // namespace onceward::embedded
