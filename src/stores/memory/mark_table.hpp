// MarkTable: the mark entries of one shard, by the mark's scope. Guarded by its shard's mutex.
#pragma once

#include <cstddef>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "core/marks.hpp"

namespace onceward::memory {

class MarkTable {
 public:
  const MarkEntry* find(const Scope& scope) const;
  void put(const MarkEntry& entry);
  void remove(const Scope& scope);
  // Drops entries past their time, at most `count`; replies how many it looked at.
  std::size_t purge(Timestamp now, std::size_t count);

  std::size_t size() const { return entries_.size(); }
  std::size_t bytes() const { return entries_.size() * entry_bytes; }

 private:
  struct ScopeHash {
    std::size_t operator()(const Scope& scope) const {
      std::size_t hash = 0;  // a scope is one
      std::memcpy(&hash, scope.data.data() + 8, sizeof(hash));
      return hash;
    }
  };
  struct Due {
    Timestamp at;
    Scope scope;
    bool operator<(const Due& other) const { return at > other.at; }  // the earliest on top of the heap
  };
  // An entry, its key and node, and its place in the heap.
  static constexpr std::size_t entry_bytes =
      sizeof(MarkEntry) + sizeof(Scope) + 3 * sizeof(void*) + sizeof(Due);

  std::unordered_map<Scope, MarkEntry, ScopeHash> entries_;
  std::vector<Due> due_;  // of what has an end; entries that have moved on are skipped
};

}  // namespace onceward::memory
