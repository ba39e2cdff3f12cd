// WriteQueue: writes on their way from the verbs to the writer. Any thread pushes, without a lock, for the
// workers would otherwise wait for each other and for the writer with every verb; whoever has the turn takes
// all.
#pragma once

#include <atomic>

#include "stores/embedded/write.hpp"

namespace onceward::embedded {

class WriteQueue {
 public:
  // A chain, linked from the newest to the oldest.
  void push(Write* newest, Write* oldest) {
    Write* last = last_.load(std::memory_order_relaxed);
    do oldest->next = last;
    while (!last_.compare_exchange_weak(last, newest));
  }
  bool empty() const { return last_.load() == nullptr; }

  Write* take() {  // all, in the order in which they were pushed
    Write* first = nullptr;
    Write* write = last_.exchange(nullptr);
    while (write) {
      Write* const earlier = write->next;
      write->prefetch();
      write->next = first;
      first = write;
      write = earlier;
    }
    return first;
  }

 private:
  std::atomic<Write*> last_ = nullptr;
};

}  // namespace onceward::embedded
