#include "core/siphash.hpp"

#include <gtest/gtest.h>

#include <string>

namespace onceward {
namespace {

// From the authors' reference output: key 00..0f, message 00 01 02 … of the given length.
TEST(SipHash, AgreesWithTheReference) {
  const SipKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  struct Case {
    std::size_t length;
    std::uint64_t digest;
  };
  for (const Case& c : {Case{0, 0x726fdb47dd0e0e31}, Case{1, 0x74f839c593dc67fd}, Case{8, 0x93f5f5799a932462},
                        Case{15, 0xa129ca6149be45e5}}) {
    std::string message;
    for (std::size_t i = 0; i < c.length; ++i) message += static_cast<char>(i);
    EXPECT_EQ(siphash24(key, message), c.digest) << c.length;
  }
}

TEST(SipHash, AnotherKeyGivesAnotherDigest) {
  EXPECT_NE(siphash24({1, 2}, "100"), siphash24({1, 3}, "100"));
  EXPECT_NE(siphash24({1, 2}, "100"), siphash24({2, 2}, "100"));
}

}  // namespace
}  // namespace onceward
