// SlotMap: scope → where its last entry in one segment is. Flat, open addressing, nothing is ever taken
// out: the whole map goes when its segment is sealed. A byte per cell tells most strangers apart, so that a
// new key is found missing, and put in, without reading a cell: they are megabytes, and in nobody's cache.
// Not for several threads at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/scope.hpp"
#include "stores/embedded/slot.hpp"

namespace onceward::embedded {

class SlotMap {
 public:
  struct alignas(64) Value {  // a line of the processor's cache, and not parts of two
    Scope first;
    Slot second;
  };
  static_assert(sizeof(Value) == 64);

  std::size_t size() const { return size_; }
  bool contains(const Scope& scope) const { return find(scope) != nullptr; }

  const Slot* find(const Scope& scope) const {
    if (cells_.empty()) return nullptr;
    const std::size_t at = cell_of(scope);
    return tags_[at] == free ? nullptr : &cells_[at].second;
  }

  void set(const Scope& scope, const Slot& slot) {
    if ((size_ + 1) * 8 > cells_.size() * 5) grow();  // fuller, a miss would look at twice as many
    const std::size_t at = cell_of(scope);
    if (tags_[at] == free) {
      tags_[at] = tag_of(scope_prefix(scope));
      ++size_;
    }
    cells_[at] = {scope, slot};
  }

  void prefetch(const Scope& scope) const {
    if (cells_.empty()) return;
    const std::size_t at = place_of(scope_prefix(scope));
    __builtin_prefetch(&tags_[at], 1);
    __builtin_prefetch(&cells_[at], 1);
  }

  // For a search that is most likely in vain.
  void prefetch_tag(const Scope& scope) const {
    if (!tags_.empty()) __builtin_prefetch(&tags_[place_of(scope_prefix(scope))], 1);
  }

  // Each entry whose scope has this prefix; they stand in one run.
  template <class Visit>
  void for_prefix(std::uint64_t prefix, Visit visit) const {
    if (cells_.empty()) return;
    for (std::size_t at = place_of(prefix); tags_[at] != free; at = (at + 1) & mask()) {
      if (scope_prefix(cells_[at].first) == prefix) visit(cells_[at].first, cells_[at].second);
    }
  }

  // So many cells from `at` on, which is moved behind them. False: those were the last.
  template <class Visit>
  bool visit_some(std::size_t& at, std::size_t count, Visit visit) const {
    const std::size_t end = std::min(cells_.size(), at + count);
    for (; at < end; ++at) {
      if (tags_[at] != free) visit(cells_[at].first, cells_[at].second);
    }
    return at < cells_.size();
  }

  class Iterator {
   public:
    Iterator(const SlotMap& map, std::size_t at) : map_(map), at_(at) { skip(); }
    const Value& operator*() const { return map_.cells_[at_]; }
    Iterator& operator++() {
      ++at_;
      skip();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    void skip() {
      while (at_ < map_.tags_.size() && map_.tags_[at_] == free) ++at_;
    }
    const SlotMap& map_;
    std::size_t at_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, cells_.size()}; }

 private:
  using Tag = std::uint8_t;
  static constexpr Tag free = 0;

  std::size_t mask() const { return cells_.size() - 1; }
  std::size_t place_of(std::uint64_t prefix) const {
    return static_cast<std::size_t>((prefix * 0x9e3779b97f4a7c15ull) >> 20) & mask();
  }
  // Hardly depends on what the place does.
  static Tag tag_of(std::uint64_t prefix) { return static_cast<Tag>(prefix % 255 + 1); }
  // The scope's, or the free one where it would be.
  std::size_t cell_of(const Scope& scope) const {
    const std::uint64_t prefix = scope_prefix(scope);
    const Tag tag = tag_of(prefix);
    std::size_t at = place_of(prefix);
    while (tags_[at] != free && !(tags_[at] == tag && cells_[at].first == scope)) at = (at + 1) & mask();
    return at;
  }
  void grow() {
    const std::size_t count = cells_.empty() ? 16 : cells_.size() * 2;
    SlotMap larger;
    larger.cells_.resize(count);
    larger.tags_.resize(count, free);
    for (const Value& cell : *this) larger.set(cell.first, cell.second);
    *this = std::move(larger);
  }

  std::vector<Value> cells_;  // a power of two, or none
  std::vector<Tag> tags_;     // as many
  std::size_t size_ = 0;
};

}  // namespace onceward::embedded
