// DueList: when a purge should look at which record, the earliest first. What is added is nearly always later
// than what was added before it with the same ttl, so it is appended to one of a few runs, which costs no
// look at the others; only what fits none of them is sorted in. Guarded by its shard's mutex.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "onceward/values.hpp"

namespace onceward::memory {

struct Due {
  Timestamp at;
  std::uint64_t prefix;                                             // of its scope
  bool operator<(const Due& other) const { return at > other.at; }  // the earliest on top of the heap
};

class DueList {
 public:
  DueList() { ends_.fill(Timestamp::min()); }

  void add(const Due& due) {
    // The one that ends last before it: runs of other ttls keep their ends.
    std::size_t best = runs_max;
    for (std::size_t i = 0; i < runs_max; ++i)
      if (ends_[i] <= due.at && (best == runs_max || ends_[i] > ends_[best])) best = i;
    if (best != runs_max) {
      ends_[best] = due.at;
      return runs_[best].push_back(due);
    }
    rest_.push_back(due);
    std::push_heap(rest_.begin(), rest_.end());
  }

  const Due* first() const {
    const Due* first = rest_.empty() ? nullptr : &rest_.front();
    for (const Run& run : runs_)
      if (!run.empty() && (!first || run.front().at < first->at)) first = &run.front();
    return first;
  }

  void drop_first() {
    const Due* const gone = first();
    if (!gone) return;
    for (std::size_t i = 0; i < runs_max; ++i) {
      Run& run = runs_[i];
      if (run.empty() || &run.front() != gone) continue;
      run.pop_front();
      if (run.empty()) ends_[i] = Timestamp::min();
      return;
    }
    std::pop_heap(rest_.begin(), rest_.end());
    rest_.pop_back();
  }

 private:
  static constexpr std::size_t runs_max = 4;
  using Run = std::deque<Due>;
  // The time of each run's last entry, here because that entry is in no cache; of an empty one the earliest.
  std::array<Timestamp, runs_max> ends_;
  std::array<Run, runs_max> runs_;
  std::vector<Due> rest_;  // a heap
};

}  // namespace onceward::memory
