#include "stores/embedded/sealed_list.hpp"

#include <algorithm>
#include <bit>

namespace onceward::embedded {
namespace {

std::size_t entries_in(std::span<const SealedPtr> segments) {
  std::size_t entries = 0;
  for (const SealedPtr& sealed : segments) entries += sealed->index.summary().entries;
  return entries;
}

}  // namespace

std::size_t SealedList::Run::entries() const { return entries_in(segments); }

void SealedList::prefetch(std::uint64_t prefix) const {
  for (const Part& part : parts_) part.table ? part.table->prefetch(prefix) : part.filter->prefetch(prefix);
}

void SealedList::find(std::uint64_t prefix, std::vector<SealedPtr>& found) const {
  prefetch(prefix);
  std::size_t first = 0;
  for (const Part& part : parts_) {
    std::uint64_t some = part.table ? part.table->find(prefix) : part.filter->may_contain(prefix);
    for (; some != 0; some &= some - 1) {
      const auto number = static_cast<std::size_t>(std::countr_zero(some));
      if (number >= part.count) break;  // gone, as are the older ones
      found.push_back(segments_[first + number]);
    }
    first += part.count;
  }
}

std::uint64_t SealedList::filter_bytes() const {
  std::uint64_t bytes = 0;
  for (const Part& part : parts_) bytes += part.table ? part.table->bytes() : part.filter->bytes().size();
  for (const SealedPtr& sealed : segments_) bytes += sealed->index.blocks() * sizeof(std::uint64_t);
  return bytes;
}

void SealedList::add_newest(SealedPtr sealed, Filter filter) {
  segments_.insert(segments_.begin(), std::move(sealed));
  parts_.insert(parts_.begin(), {1, 0, std::make_shared<const Filter>(std::move(filter)), nullptr});
}

void SealedList::add_oldest(SealedPtr sealed, Filter filter) {
  segments_.push_back(std::move(sealed));
  parts_.push_back({1, 0, std::make_shared<const Filter>(std::move(filter)), nullptr});
}

void SealedList::remove_oldest() {
  segments_.pop_back();
  if (--parts_.back().count == 0) parts_.pop_back();
}

// What has gone still takes room in its table: a tenth of it may, then the memory per record is still
// within its bound.
bool SealedList::is_mostly_needed(const Part& part, std::size_t first) const {
  const std::size_t left = entries_in(std::span(segments_).subspan(first, part.count));
  return (part.table->entries() - std::min(left, part.table->entries())) * 10 <= part.table->entries();
}

SealedList::Run SealedList::run_of(std::size_t first_part, std::size_t last_part, int level) const {
  std::size_t first = 0;
  for (std::size_t i = 0; i < first_part; ++i) first += parts_[i].count;
  std::size_t count = 0;
  for (std::size_t i = first_part; i <= last_part; ++i) count += parts_[i].count;
  const auto from = segments_.begin() + static_cast<std::ptrdiff_t>(first);
  return {{from, from + static_cast<std::ptrdiff_t>(count)}, level};
}

std::optional<SealedList::Run> SealedList::to_be_grouped() const {
  if (!parts_.empty() && parts_.back().table &&
      !is_mostly_needed(parts_.back(), segments_.size() - parts_.back().count)) {
    return run_of(parts_.size() - 1, parts_.size() - 1, parts_.back().level);
  }
  std::size_t single = 0;
  std::size_t young = 0;  // parts that are not large, and their segments
  std::size_t young_segments = 0;
  for (const Part& part : parts_) {
    if (part.level == large_level) break;
    single += part.level == 0 ? 1 : 0;
    young_segments += part.count;
    ++young;
  }
  if (young_segments >= SegmentTable::segments_max) {
    std::size_t first = young;
    for (std::size_t taken = 0; taken + parts_[first - 1].count <= SegmentTable::segments_max;) {
      taken += parts_[--first].count;
      if (first == 0) break;
    }
    return run_of(first, young - 1, large_level);
  }
  if (single >= small_group) return run_of(single - small_group, single - 1, 1);
  return std::nullopt;
}

void SealedList::group(const Run& run, std::shared_ptr<const SegmentTable> table) {
  const auto at = std::find(segments_.begin(), segments_.end(), run.segments.front());
  if (at == segments_.end()) return;
  const auto first = static_cast<std::size_t>(at - segments_.begin());
  Part grouped{std::min(run.segments.size(), segments_.size() - first), run.level, nullptr, std::move(table)};
  std::vector<Part> parts;
  std::size_t seen = 0;
  for (Part& part : parts_) {
    if (seen == first) parts.push_back(grouped);
    const bool inside = seen >= first && seen < first + grouped.count;
    seen += part.count;
    if (!inside) parts.push_back(std::move(part));
  }
  parts_ = std::move(parts);
}

}  // namespace onceward::embedded
