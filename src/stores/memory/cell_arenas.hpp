// CellArenas: room for the cells of all shards' tables. Each size of table has an arena of its own, in which
// each shard has its place; shards fill alike and move on to the next size one by one, and the last to leave
// an arena frees it. Side by side the tables are large enough for huge pages: a lookup goes to a random cell,
// and with small pages the processor would first have to find out where that is. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

namespace onceward::memory {

class CellArenas {
 public:
  static constexpr std::size_t shard_count = 64;

  CellArenas() = default;
  ~CellArenas();
  CellArenas(const CellArenas&) = delete;
  CellArenas& operator=(const CellArenas&) = delete;

  // Zeroed, for a shard takes each size once: tables only grow. `bytes` is a power of two and at least 64.
  void* take(std::size_t shard, std::size_t bytes);
  void give_back(std::size_t bytes);

 private:
  struct Arena {
    char* data = nullptr;
    std::size_t users = 0;
  };
  Arena& arena_of(std::size_t bytes);

  std::mutex mutex_;
  std::array<Arena, 48> arenas_;  // by the logarithm of the table's size
};

}  // namespace onceward::memory
