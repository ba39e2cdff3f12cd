#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <regex>
#include <set>

#include "onceward/client.hpp"
#include "support/vectors.hpp"

namespace onceward::client {
namespace {

TEST(NewKey, RandomKeysAreUuidsOfVersion7AndDiffer) {
  const std::regex uuid("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const NewKey key = NewKey::random();
    EXPECT_TRUE(std::regex_match(key.text(), uuid)) << key.text();
    EXPECT_TRUE(seen.insert(key.text()).second);
  }
}

TEST(NewKey, DerivedKeysAreTheSameInEveryClient) {
  const auto table = boost::json::parse(test::read_vector(ONCEWARD_VECTORS "/client/derived_keys.json"));
  ASSERT_GT(table.as_array().size(), 5u);
  for (const auto& line : table.as_array()) {
    std::vector<std::string> fields;
    for (const auto& field : line.at("fields").as_array()) fields.emplace_back(field.as_string());
    EXPECT_EQ(NewKey::derived(fields).text(), std::string(line.at("key").as_string()));
  }
}

TEST(NewKey, AGivenKeyMustBeOneAServerAccepts) {
  EXPECT_EQ(NewKey::given("k 1")->text(), "k 1");
  EXPECT_TRUE(NewKey::given(std::string(255, 'k')));
  for (const std::string& bad : {std::string(), std::string(256, 'k'), std::string("k\n"), std::string("ké")})
    EXPECT_FALSE(NewKey::given(bad)) << bad;
}

}  // namespace
}  // namespace onceward::client
