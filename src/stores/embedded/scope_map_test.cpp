#include "stores/embedded/scope_map.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace onceward::embedded {
namespace {

// Few scopes and few prefixes, so that runs are long, wrap around and are cut in the middle.
Scope scope_of_number(std::uint64_t number) {
  Scope scope;
  scope.data[7] = static_cast<std::uint8_t>(number % 5 * 4);
  scope.data[6] = static_cast<std::uint8_t>(number % 3);
  scope.data[31] = static_cast<std::uint8_t>(number);
  return scope;
}

TEST(ScopeMap, AgreesWithAPlainMapThroughInsertionsAndRemovals) {
  std::mt19937_64 random(7);
  ScopeMap<int> map;
  std::map<Scope, int> model;
  for (int step = 1; step < 50000; ++step) {
    const Scope scope = scope_of_number(random() % 60);
    if (random() % 2 == 0) {
      map[scope] = step;
      model[scope] = step;
    } else {
      map.erase(scope);
      model.erase(scope);
    }
    const Scope other = scope_of_number(random() % 60);
    const auto expected = model.find(other);
    const int* found = map.find(other);
    ASSERT_EQ(found != nullptr, expected != model.end()) << "step " << step;
    if (found) ASSERT_EQ(*found, expected->second) << "step " << step;
    ASSERT_EQ(map.size(), model.size());
  }
  std::map<Scope, int> by_prefix;
  for (std::uint64_t number = 0; number < 15; ++number) {
    map.for_prefix(scope_prefix(scope_of_number(number)),
                   [&](const Scope& scope, int value) { by_prefix[scope] = value; });
  }
  EXPECT_EQ(by_prefix, model);
  std::map<Scope, int> all;
  map.for_each([&](const Scope& scope, int value) { EXPECT_TRUE(all.emplace(scope, value).second); });
  EXPECT_EQ(all, model);
}

TEST(ScopeMap, LetsGoOfWhatARemovedValueHeld) {
  ScopeMap<std::shared_ptr<int>> map;
  const auto held = std::make_shared<int>(1);
  map[scope_of_number(1)] = held;
  EXPECT_EQ(held.use_count(), 2);
  map.erase(scope_of_number(1));
  EXPECT_EQ(held.use_count(), 1);
}

TEST(ScopeMap, ChangesWhatIsThereAndDropsItWhenTold) {
  ScopeMap<int> map;
  map[scope_of_number(1)] = 5;
  EXPECT_FALSE(map.change(scope_of_number(2), [](int&) -> bool { throw "there is none"; }));
  EXPECT_TRUE(map.change(scope_of_number(1), [](int& value) { return ++value == 6; }));
  ASSERT_NE(map.find(scope_of_number(1)), nullptr);
  EXPECT_EQ(*map.find(scope_of_number(1)), 6);
  EXPECT_TRUE(map.change(scope_of_number(1), [](int& value) { return ++value == 6; }));
  EXPECT_EQ(map.size(), 0u);
  EXPECT_EQ(map[scope_of_number(1)], 0);
}

TEST(ScopeMap, KeepsAValueInItsPlaceWhileOthersComeAndGo) {
  ScopeMap<int> map;
  map[scope_of_number(200)] = 5;
  const int* place = map.find(scope_of_number(200));
  for (std::uint64_t i = 0; i < 190; ++i) map[scope_of_number(i)] = 1;
  for (std::uint64_t i = 0; i < 190; ++i) map.erase(scope_of_number(i));
  EXPECT_EQ(map.find(scope_of_number(200)), place);
  EXPECT_EQ(*place, 5);
}

}  // namespace
}  // namespace onceward::embedded
