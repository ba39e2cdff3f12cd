#include "stores/embedded/slot_map.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace onceward::embedded {
namespace {

TEST(SlotMap, AgreesWithAPlainMapAlsoWhenPrefixesCollide) {
  std::mt19937_64 random(5);
  SlotMap slots;
  std::map<Scope, std::uint32_t> model;
  for (std::uint32_t step = 1; step < 5000; ++step) {
    Scope scope;
    scope.data[7] = static_cast<std::uint8_t>(random() % 8 * 4);  // eight prefixes
    scope.data[31] = static_cast<std::uint8_t>(random() % 100);
    slots.set(scope, {step, 1, 3});
    model[scope] = step;
  }
  EXPECT_EQ(slots.size(), model.size());
  std::size_t seen = 0;
  for (const auto& [scope, slot] : slots) {
    EXPECT_EQ(slot.offset, model.at(scope));
    ++seen;
  }
  EXPECT_EQ(seen, model.size());
  std::size_t by_prefix = 0;
  for (std::uint64_t prefix = 0; prefix < 8; ++prefix) {
    slots.for_prefix(prefix, [&](const Scope&, const Slot&) { ++by_prefix; });
  }
  EXPECT_EQ(by_prefix, model.size());
  EXPECT_FALSE(slots.contains(Scope{{1}}));
}

}  // namespace
}  // namespace onceward::embedded
