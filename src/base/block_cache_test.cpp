#include "base/block_cache.hpp"

#include <gtest/gtest.h>

#include <set>

namespace onceward {
namespace {

using Cache = BlockCache<16, 64, 3>;

TEST(BlockCache, HasAClassForEverySizeThatHoldsIt) {
  EXPECT_EQ(Cache::classes, 4u);
  for (std::size_t bytes = 1; bytes <= 64; ++bytes) {
    const std::size_t cls = Cache::class_of(bytes);
    ASSERT_LT(cls, Cache::classes);
    EXPECT_GE(Cache::class_bytes(cls), bytes);
    EXPECT_LT(Cache::class_bytes(cls), bytes + 16);
  }
}

TEST(BlockCache, HandsOutWhatItWasGivenBackAndKeepsSoManyOfASize) {
  Cache cache;
  EXPECT_EQ(cache.take(1), nullptr);
  std::set<void*> given;
  for (int i = 0; i < 3; ++i) {
    void* const block = std::malloc(Cache::class_bytes(1));
    given.insert(block);
    cache.give_back(block, 1);
  }
  cache.give_back(std::malloc(Cache::class_bytes(1)), 1);  // one too many: freed
  EXPECT_EQ(cache.take(0), nullptr);
  std::set<void*> taken;
  while (void* const block = cache.take(1)) taken.insert(block);
  EXPECT_EQ(taken, given);
  for (void* const block : taken) std::free(block);
}

TEST(BlockCache, FreesWhatItKeepsAndWhateverComesLater) {
  Cache cache;
  cache.give_back(std::malloc(Cache::class_bytes(3)), 3);
  cache.let_go();
  EXPECT_EQ(cache.take(3), nullptr);
  cache.give_back(std::malloc(Cache::class_bytes(3)), 3);
  EXPECT_EQ(cache.take(3), nullptr);
}

}  // namespace
}  // namespace onceward
