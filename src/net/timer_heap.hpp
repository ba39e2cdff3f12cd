// TimerHeap: the armed timers of one executor, soonest first. Moving a timer to a later time only notes
// it; the heap catches up when the old time comes, because most deadlines are moved on, not reached.
// One thread.
#pragma once

#include <optional>
#include <vector>

#include "onceward/executor.hpp"

namespace onceward::net {

class TimerHeap {
 public:
  void arm(Timer& timer, MonoTime at);
  void cancel(Timer& timer);
  void fire(MonoTime now);               // runs all that are due
  std::optional<MonoTime> next() const;  // not later than the next due time
  std::size_t size() const { return heap_.size(); }

 private:
  struct Entry {
    MonoTime at;
    Timer* timer;
  };
  void place(std::size_t slot, Entry entry);
  void sift_up(std::size_t slot);
  void sift_down(std::size_t slot);
  void remove(std::size_t slot);

  std::vector<Entry> heap_;
};

}  // namespace onceward::net
