// WideView: several scopes seen at one moment, for verbs that change more than one. Their shards, taken in
// the order of their numbers, stay locked from look() until unlock(); no disk is read meanwhile: what lies
// there was read before, and is read again if it has moved. One thread, on the stack of a verb.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "stores/embedded/shard.hpp"

namespace onceward::embedded {

class WideView {
 public:
  explicit WideView(std::span<Shard> shards) : shards_(shards) {}

  // False: it is among them already. Not while locked.
  bool add(const Scope& scope, bool wanted = true);
  // Locks and looks. An error: nothing is locked.
  Result<Done> look();
  void unlock() { locks_.clear(); }

  // While locked:
  Write* pending() const { return pending_; }  // one of them is being written; null: all are known
  const Record* record(const Scope& scope) const;
  bool is_counted(const Scope& scope) const;  // among the store's records
  Shard& shard_of(const Scope& scope) const { return shards_[number_of(scope)]; }

 private:
  struct Seen {
    bool wanted = true;  // its record, not only whether it is being written
    bool was_read = false;
    Place place;
    std::optional<Record> stored;
    SegmentId found_in = 0;
  };

  std::size_t number_of(const Scope& scope) const {
    return shard_number(scope_prefix(scope), shards_.size());
  }
  void lock();
  bool look_at(const Scope& scope, Seen& seen);  // false: it has to be read

  std::span<Shard> shards_;
  std::map<Scope, Seen> seen_;
  std::vector<std::unique_lock<std::mutex>> locks_;
  Write* pending_ = nullptr;
};

}  // namespace onceward::embedded
