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
  void add(const Due& due) {
    Run* best = nullptr;  // the one that ends last before it: runs of other ttls keep their ends
    for (Run& run : runs_) {
      if (!run.empty() && run.back().at > due.at) continue;
      if (!best || best->empty() || (!run.empty() && run.back().at > best->back().at)) best = &run;
    }
    if (best) return best->push_back(due);
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
    for (Run& run : runs_)
      if (!run.empty() && &run.front() == gone) return run.pop_front();
    std::pop_heap(rest_.begin(), rest_.end());
    rest_.pop_back();
  }

 private:
  using Run = std::deque<Due>;
  std::array<Run, 4> runs_;
  std::vector<Due> rest_;  // a heap
};

}  // namespace onceward::memory
