#include "core/crc32c.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace onceward {
namespace {

TEST(Crc32c, GivesThePublishedValues) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(Crc32c, IsTheSameWithAndWithoutTheInstructionAndInPieces) {
  std::mt19937 random(7);
  for (std::size_t length = 0; length < 200; ++length) {
    std::string bytes(length, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const std::size_t cut = length / 3;
    const std::string_view all = bytes;
    EXPECT_EQ(crc32c(all), crc32c_portable(all)) << length;
    EXPECT_EQ(crc32c(all.substr(cut), crc32c(all.substr(0, cut))), crc32c(all)) << length;
  }
}

}  // namespace
}  // namespace onceward
