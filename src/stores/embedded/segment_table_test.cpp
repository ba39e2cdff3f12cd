#include "stores/embedded/segment_table.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace onceward::embedded {
namespace {

constexpr std::size_t per_segment = 3000;

std::vector<std::uint64_t> prefixes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> values(count);
  for (std::uint64_t& value : values) value = random() >> 2;
  return values;
}

TEST(SegmentTable, FindsEveryPrefixInItsSegment) {
  for (const std::size_t segments : {1u, 8u, 64u}) {
    SegmentTable table(segments * per_segment);
    for (std::size_t i = 0; i < segments; ++i) {
      for (const std::uint64_t prefix : prefixes(per_segment, i)) table.add(prefix, i);
    }
    EXPECT_EQ(table.entries(), segments * per_segment);
    for (std::size_t i = 0; i < segments; ++i) {
      for (const std::uint64_t prefix : prefixes(per_segment, i))
        ASSERT_TRUE(table.find(prefix) & (std::uint64_t{1} << i)) << segments << " " << i;
    }
  }
}

TEST(SegmentTable, IsSmallAndSeldomWrong) {
  SegmentTable table(64 * per_segment);
  for (std::size_t i = 0; i < 64; ++i) {
    for (const std::uint64_t prefix : prefixes(per_segment, i)) table.add(prefix, i);
  }
  EXPECT_LE(static_cast<double>(table.bytes()) / static_cast<double>(table.entries()), 3.5);
  std::size_t wrong = 0;
  for (const std::uint64_t prefix : prefixes(500'000, 1000)) wrong += table.find(prefix) != 0;
  EXPECT_LT(wrong, 100u);  // 1 in 5000; 1 in 12 000 are expected
  EXPECT_GT(wrong, 0u);
}

// A key that is written again and again has an entry in every segment.
TEST(SegmentTable, FindsOnePrefixInEverySegment) {
  SegmentTable table(64 * 3);
  for (std::size_t i = 0; i < 64; ++i) {
    for (const std::uint64_t prefix : {7u, 8u, 9u}) table.add(prefix, i);
  }
  for (const std::uint64_t prefix : {7u, 8u, 9u}) EXPECT_EQ(table.find(prefix), ~std::uint64_t{0});
  EXPECT_EQ(table.find(10), 0u);
}

TEST(SegmentTable, OfNothingHoldsNothing) { EXPECT_EQ(SegmentTable(0).find(5), 0u); }

}  // namespace
}  // namespace onceward::embedded
