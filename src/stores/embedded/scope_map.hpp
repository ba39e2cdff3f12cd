// ScopeMap: scope → value, for the small sets that change with every verb: what is open and what is being
// written. Open addressing over nodes that stay where they are; a few freed nodes are kept for the next
// insertion, for the general allocator would move each between threads. Not
// for several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/scope.hpp"

namespace onceward::embedded {

template <class T>
class ScopeMap {
 public:
  std::size_t size() const { return size_; }
  bool contains(const Scope& scope) const { return find(scope) != nullptr; }

  const T* find(const Scope& scope) const {
    if (size_ == 0) return nullptr;
    for (std::size_t at = place_of(scope_prefix(scope)); cells_[at]; at = (at + 1) & mask()) {
      if (cells_[at]->scope == scope) return &cells_[at]->value;
    }
    return nullptr;
  }

  void prefetch(const Scope& scope) const {
    if (!cells_.empty()) __builtin_prefetch(&cells_[place_of(scope_prefix(scope))], 1);
  }

  // The one there is, or a new one.
  T& operator[](const Scope& scope) {
    if ((size_ + 1) * 2 > cells_.size()) grow();
    std::size_t at = place_of(scope_prefix(scope));
    for (; cells_[at]; at = (at + 1) & mask()) {
      if (cells_[at]->scope == scope) return cells_[at]->value;
    }
    cells_[at] = take_node();
    cells_[at]->scope = scope;
    ++size_;
    return cells_[at]->value;
  }

  // `change(value)`, if there is one. False: it goes. Returns whether there was one.
  template <class Change>
  bool change(const Scope& scope, Change change) {
    if (size_ == 0) return false;
    std::size_t at = place_of(scope_prefix(scope));
    while (cells_[at] && cells_[at]->scope != scope) at = (at + 1) & mask();
    if (!cells_[at]) return false;
    if (change(cells_[at]->value)) return true;
    give_node(std::move(cells_[at]));
    --size_;
    close_gap(at);
    return true;
  }
  void erase(const Scope& scope) {
    change(scope, [](const T&) { return false; });
  }

  // Each entry whose scope has this prefix; they stand in one run.
  template <class Visit>
  void for_prefix(std::uint64_t prefix, Visit visit) const {
    if (size_ == 0) return;
    for (std::size_t at = place_of(prefix); cells_[at]; at = (at + 1) & mask()) {
      if (scope_prefix(cells_[at]->scope) == prefix) visit(cells_[at]->scope, cells_[at]->value);
    }
  }
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& node : cells_) {
      if (node) visit(node->scope, node->value);
    }
  }

 private:
  struct Node {
    Scope scope;
    T value;
  };
  static constexpr std::size_t spare_nodes_max = 64;

  std::size_t mask() const { return cells_.size() - 1; }
  std::size_t place_of(std::uint64_t prefix) const {
    return static_cast<std::size_t>((prefix * 0x9e3779b97f4a7c15ull) >> 20) & mask();
  }
  // Moves later entries of the run back, so that a search may end at the first free cell.
  void close_gap(std::size_t gap) {
    for (std::size_t at = (gap + 1) & mask(); cells_[at]; at = (at + 1) & mask()) {
      const std::size_t home = place_of(scope_prefix(cells_[at]->scope));
      if (((at - home) & mask()) < ((at - gap) & mask())) continue;
      cells_[gap] = std::move(cells_[at]);
      gap = at;
    }
  }
  std::unique_ptr<Node> take_node() {
    if (spare_.empty()) return std::make_unique<Node>();
    std::unique_ptr<Node> node = std::move(spare_.back());
    spare_.pop_back();
    return node;
  }
  void give_node(std::unique_ptr<Node> node) {
    if (spare_.size() >= spare_nodes_max) return;
    node->value = T{};  // what it holds on to goes now
    spare_.push_back(std::move(node));
  }
  void grow() {
    std::vector<std::unique_ptr<Node>> old(cells_.empty() ? 16 : cells_.size() * 2);
    old.swap(cells_);
    for (auto& node : old) {
      if (!node) continue;
      std::size_t at = place_of(scope_prefix(node->scope));
      while (cells_[at]) at = (at + 1) & mask();
      cells_[at] = std::move(node);
    }
  }

  std::vector<std::unique_ptr<Node>> cells_;  // a power of two, or none
  std::vector<std::unique_ptr<Node>> spare_;
  std::size_t size_ = 0;
};

}  // namespace onceward::embedded
