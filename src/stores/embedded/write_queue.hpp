// WriteQueue: writes on their way from the verbs to the writer. Any thread pushes, without a lock, for the
// workers would otherwise wait for each other and for the writer with every verb; one thread takes all.
#pragma once

#include <atomic>
#include <cstddef>

#include "stores/embedded/write.hpp"

namespace onceward::embedded {

class WriteQueue {
 public:
  struct Taken {
    Write* first = nullptr;  // in the order in which they were pushed
    std::size_t count = 0;
  };

  void push(Write* write) {
    Write* last = last_.load(std::memory_order_relaxed);
    do write->next = last;
    while (!last_.compare_exchange_weak(last, write));
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  bool empty() const { return last_.load() == nullptr; }
  // About as many as wait.
  std::size_t count() const { return count_.load(std::memory_order_relaxed); }

  Taken take() {
    Taken taken;
    Write* write = last_.exchange(nullptr);
    while (write) {
      Write* const earlier = write->next;
      write->next = taken.first;
      taken.first = write;
      ++taken.count;
      write = earlier;
    }
    count_.fetch_sub(taken.count, std::memory_order_relaxed);
    return taken;
  }

 private:
  std::atomic<Write*> last_ = nullptr;
  std::atomic<std::size_t> count_ = 0;
};

}  // namespace onceward::embedded
