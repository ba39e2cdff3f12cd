#include "stores/memory/cell_arenas.hpp"

#include <sys/mman.h>

#include <bit>

#include "base/assert.hpp"
#include "stores/memory/pages.hpp"

namespace onceward::memory {

CellArenas::~CellArenas() {
  for (const Arena& arena : arenas_) ONCEWARD_ASSERT(arena.users == 0);
}

CellArenas::Arena& CellArenas::arena_of(std::size_t bytes) {
  ONCEWARD_ASSERT(std::has_single_bit(bytes));
  return arenas_.at(static_cast<std::size_t>(std::countr_zero(bytes)));
}

void* CellArenas::take(std::size_t shard, std::size_t bytes) {
  ONCEWARD_ASSERT(shard < shard_count);
  const std::lock_guard lock(mutex_);
  Arena& arena = arena_of(bytes);
  if (!arena.data) arena.data = map_pages(bytes * shard_count);
  ++arena.users;
  return arena.data + shard * bytes;
}

void CellArenas::give_back(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  Arena& arena = arena_of(bytes);
  ONCEWARD_ASSERT(arena.users > 0);
  if (--arena.users != 0) return;
  ::munmap(arena.data, bytes * shard_count);
  arena.data = nullptr;
}

}  // namespace onceward::memory
