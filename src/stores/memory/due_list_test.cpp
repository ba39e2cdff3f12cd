#include "stores/memory/due_list.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace onceward::memory {
namespace {

Timestamp at(std::int64_t ms) { return Timestamp(Duration(ms)); }

TEST(DueList, HasNoFirstWhenItIsEmpty) {
  DueList list;
  EXPECT_EQ(list.first(), nullptr);
  list.drop_first();
  EXPECT_EQ(list.first(), nullptr);
}

TEST(DueList, GivesTheEarliestFirstWhateverWasAddedInWhichOrder) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const unsigned spread : {1u, 3u, 100u, 1'000'000u}) {
    DueList list;
    std::multiset<std::int64_t> model;
    for (int step = 0; step < 5000; ++step) {
      if (random() % 3 != 0) {
        // A few ttls whose ends advance with time, and now and then any time at all.
        const auto ttl = static_cast<std::int64_t>(random() % 6 * 1000);
        const std::int64_t time =
            random() % 10 == 0 ? static_cast<std::int64_t>(random() % spread) : step + ttl;
        list.add({at(time), static_cast<std::uint64_t>(time)});
        model.insert(time);
      } else if (!model.empty()) {
        list.drop_first();
        model.erase(model.begin());
      }
      ASSERT_EQ(list.first() == nullptr, model.empty());
      if (model.empty()) continue;
      ASSERT_EQ(list.first()->at, at(*model.begin()));
      ASSERT_EQ(list.first()->prefix, static_cast<std::uint64_t>(*model.begin()));
    }
  }
}

}  // namespace
}  // namespace onceward::memory
