#include "stores/postgres/leaves.hpp"

#include <gtest/gtest.h>

namespace onceward::postgres {
namespace {

TEST(PostgresLeaves, come_back_as_they_were) {
  const std::vector<Leaf> leaves{{"/a", 7}, {"", 0}, {std::string("/b\0\xff", 4), 0xfedcba9876543210U}};
  EXPECT_EQ(decode_leaves(encode_leaves(leaves)), leaves);
  EXPECT_EQ(encode_leaves({}), "");
  EXPECT_EQ(decode_leaves(""), std::vector<Leaf>{});
}

TEST(PostgresLeaves, damaged_bytes_are_not_leaves) {
  const std::string whole = encode_leaves({{"/pointer", 7}});
  for (std::size_t length = 1; length < whole.size(); ++length)
    EXPECT_FALSE(decode_leaves(whole.substr(0, length))) << length;
  EXPECT_FALSE(decode_leaves(std::string(12, '\xff')));
}

}  // namespace
}  // namespace onceward::postgres
