#include "stores/redis/crc16.hpp"

#include <gtest/gtest.h>

namespace onceward::redis {
namespace {

TEST(Crc16, has_the_published_check_value) { EXPECT_EQ(crc16("123456789"), 0x31c3); }

TEST(Crc16, a_slot_is_that_of_the_tag_between_the_first_braces) {
  struct Case {
    const char* key;
    std::uint16_t slot;
  };
  // As `CLUSTER KEYSLOT` of a server says.
  const Case cases[] = {
      {"foo", 12182},
      {"{foo}bar", 12182},
      {"x{foo}", 12182},
      {"a{foo}{bar}", 12182},
      {"foo{}", 5542},
      {"foo{bar", 15278},
      {"", 0},
      {"foo}{bar}", 5061},
      {"onceward:{foo}", 12182},
  };
  for (const Case& c : cases) EXPECT_EQ(slot_of(c.key), c.slot) << c.key;
}

}  // namespace
}  // namespace onceward::redis
