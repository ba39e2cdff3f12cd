#include "proxy/derived_key.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

KeyPolicy from_json(const char* pointer) {
  KeyPolicy policy;
  policy.from = KeySource::json;
  policy.from_argument = pointer;
  return policy;
}

TEST(DerivedKey, is_the_leaf_at_the_pointer) {
  struct Case {
    const char* body;
    std::optional<std::string> key;
  };
  const Case cases[] = {
      {R"({"event":{"id":"evt_1"}})", "evt_1"},
      {R"({"event":{"id":42}})", "42"},
      {R"({"event":{"id":null}})", std::nullopt},
      {R"({"event":{"id":{}}})", std::nullopt},
      {R"({"event":{}})", std::nullopt},
      {"not json", std::nullopt},
      {"", std::nullopt},
  };
  for (const Case& c : cases) {
    const auto key = derive_key(from_json("/event/id"), c.body);
    ASSERT_TRUE(key) << c.body;
    EXPECT_EQ(*key, c.key) << c.body;
  }
}

TEST(DerivedKey, that_is_empty_or_too_long_is_an_error) {
  EXPECT_FALSE(derive_key(from_json("/id"), R"({"id":""})"));
  EXPECT_FALSE(derive_key(from_json("/id"), R"({"id":")" + std::string(256, 'x') + R"("})"));
  EXPECT_TRUE(derive_key(from_json("/id"), R"({"id":")" + std::string(255, 'x') + R"("})"));
}

TEST(DerivedKey, of_the_content_is_its_hash) {
  KeyPolicy policy;
  policy.from = KeySource::content;
  EXPECT_EQ(**derive_key(policy, "a"), "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb");
  EXPECT_NE(**derive_key(policy, "a"), **derive_key(policy, "b"));
}

TEST(SendableKey, is_what_was_derived_where_that_is_a_valid_key) {
  EXPECT_EQ(sendable_key("order-1"), "order-1");
  EXPECT_EQ(sendable_key(std::string(255, 'k')), std::string(255, 'k'));
}

TEST(SendableKey, is_a_hash_of_anything_else) {
  for (const std::string& id : {std::string("a b"), std::string("a,b"), std::string("\"q\""),
                                std::string(256, 'k'), std::string("\xc3\xa4")}) {
    EXPECT_EQ(sendable_key(id).size(), 71u) << id;
    EXPECT_EQ(sendable_key(sendable_key(id)), sendable_key(id));
  }
}

}  // namespace
}  // namespace onceward
