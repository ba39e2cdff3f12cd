// SlotMap: scope → where its last entry in one segment is. Flat, open addressing, nothing is ever taken
// out: the whole map goes when its segment is sealed. Not for several threads at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/scope.hpp"
#include "stores/embedded/sealed_index.hpp"

namespace onceward::embedded {

// Where a record's last entry in a segment is, and what purging needs to know of it.
struct Slot {
  std::uint32_t offset = 0;
  std::uint32_t payload_bytes = 0;
  std::uint8_t state = removed_state;
  Timestamp expires_at = Timestamp::max();
  Timestamp gone_at = Timestamp::max();
};

class SlotMap {
 public:
  using Value = std::pair<Scope, Slot>;

  std::size_t size() const { return size_; }
  bool contains(const Scope& scope) const { return find(scope) != nullptr; }

  const Slot* find(const Scope& scope) const {
    if (cells_.empty()) return nullptr;
    const std::uint64_t prefix = scope_prefix(scope);
    for (std::size_t at = place_of(prefix);; at = (at + 1) & mask()) {
      const Value& cell = cells_[at];
      if (is_free(cell)) return nullptr;
      if (cell.first == scope) return &cell.second;
    }
  }

  void set(const Scope& scope, const Slot& slot) {
    if ((size_ + 1) * 8 > cells_.size() * 5) grow();  // fuller, a miss would look at twice as many
    for (std::size_t at = place_of(scope_prefix(scope));; at = (at + 1) & mask()) {
      Value& cell = cells_[at];
      if (!is_free(cell) && cell.first != scope) continue;
      if (is_free(cell)) ++size_;
      cell = {scope, slot};
      return;
    }
  }

  // Each entry whose scope has this prefix; they stand in one run.
  template <class Visit>
  void for_prefix(std::uint64_t prefix, Visit visit) const {
    if (cells_.empty()) return;
    for (std::size_t at = place_of(prefix); !is_free(cells_[at]); at = (at + 1) & mask()) {
      if (scope_prefix(cells_[at].first) == prefix) visit(cells_[at].first, cells_[at].second);
    }
  }

  // So many cells from `at` on, which is moved behind them. False: those were the last.
  template <class Visit>
  bool visit_some(std::size_t& at, std::size_t count, Visit visit) const {
    const std::size_t end = std::min(cells_.size(), at + count);
    for (; at < end; ++at) {
      if (!is_free(cells_[at])) visit(cells_[at].first, cells_[at].second);
    }
    return at < cells_.size();
  }
  void prefetch(std::uint64_t prefix) const {
    if (!cells_.empty()) __builtin_prefetch(&cells_[place_of(prefix)]);
  }

  class Iterator {
   public:
    Iterator(const Value* at, const Value* end) : at_(at), end_(end) { skip(); }
    const Value& operator*() const { return *at_; }
    Iterator& operator++() {
      ++at_;
      skip();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    void skip() {
      while (at_ != end_ && is_free(*at_)) ++at_;
    }
    const Value* at_;
    const Value* end_;
  };
  Iterator begin() const { return {cells_.data(), cells_.data() + cells_.size()}; }
  Iterator end() const { return {cells_.data() + cells_.size(), cells_.data() + cells_.size()}; }

 private:
  // An entry lies behind its segment's header, so no used cell has offset 0.
  static bool is_free(const Value& cell) { return cell.second.offset == 0; }
  std::size_t mask() const { return cells_.size() - 1; }
  std::size_t place_of(std::uint64_t prefix) const {
    return static_cast<std::size_t>((prefix * 0x9e3779b97f4a7c15ull) >> 20) & mask();
  }
  void grow() {
    std::vector<Value> old(cells_.empty() ? 16 : cells_.size() * 2);
    old.swap(cells_);
    size_ = 0;
    for (const Value& cell : old) {
      if (!is_free(cell)) set(cell.first, cell.second);
    }
  }

  std::vector<Value> cells_;  // a power of two, or none
  std::size_t size_ = 0;
};

}  // namespace onceward::embedded
