// The memory store: a sharded map in this process. Bounded; it never drops a record within its time to
// make room (a dropped outcome is a second execution): when it is full it refuses new claims.
// Callable from any thread; every verb is answered at once.
#pragma once

#include <cstddef>
#include <memory>

#include "onceward/store.hpp"

namespace onceward {

struct MemoryOptions {
  std::size_t records_max = 10'000'000;
  std::size_t bytes_max = std::size_t{4} << 30;
};

std::unique_ptr<Store> make_memory_store(const Clock& clock, MemoryOptions options = {});

}  // namespace onceward
