#include "stores/memory/cell_arenas.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace onceward::memory {
namespace {

bool is_zeroed(const void* room, std::size_t bytes) {
  const std::span all(static_cast<const char*>(room), bytes);
  return std::ranges::all_of(all, [](char byte) { return byte == 0; });
}

TEST(CellArenasTest, shards_have_places_of_their_own_and_find_them_zeroed) {
  CellArenas arenas;
  for (const std::size_t bytes : {std::size_t{256}, std::size_t{64} << 10}) {
    char* last = nullptr;
    for (std::size_t shard = 0; shard < CellArenas::shard_count; ++shard) {
      auto* const room = static_cast<char*>(arenas.take(shard, bytes));
      EXPECT_TRUE(is_zeroed(room, bytes));
      if (last) EXPECT_EQ(room, last + bytes) << "side by side, so that they share huge pages";
      std::memset(room, 0x55, bytes);
      last = room;
    }
    for (std::size_t shard = 0; shard < CellArenas::shard_count; ++shard) arenas.give_back(bytes);
  }
}

TEST(CellArenasTest, what_all_have_left_is_zeroed_when_somebody_comes_again) {
  CellArenas arenas;
  for (int round = 0; round < 3; ++round) {
    void* const room = arenas.take(7, 4096);
    EXPECT_TRUE(is_zeroed(room, 4096)) << round;
    std::memset(room, 0x55, 4096);
    arenas.give_back(4096);
  }
}

TEST(CellArenasTest, an_arena_stays_as_long_as_one_shard_is_in_it) {
  CellArenas arenas;
  auto* const kept = static_cast<char*>(arenas.take(1, 1024));
  (void)arenas.take(2, 1024);
  kept[1023] = 'x';
  arenas.give_back(1024);
  EXPECT_EQ(kept[1023], 'x');
  arenas.give_back(1024);
}

}  // namespace
}  // namespace onceward::memory
