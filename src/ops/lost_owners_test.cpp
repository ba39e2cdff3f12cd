#include "ops/lost_owners.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr Timestamp began{std::chrono::days{20'000}};

Record lost(std::uint8_t name, Timestamp when = began, Epoch epoch = 1) {
  Record record;
  record.operation_id.data[0] = name;
  record.epoch = epoch;
  record.state = State::unknown;
  record.evidence.cause = UnknownCause::owner_lost;
  record.updated_at = when;
  return record;
}

TEST(LostOwners, each_is_new_once) {
  LostOwners owners(began);
  EXPECT_TRUE(owners.is_new(lost(1)));
  EXPECT_FALSE(owners.is_new(lost(1)));
  EXPECT_TRUE(owners.is_new(lost(2)));
  owners.pass_ended();
  EXPECT_FALSE(owners.is_new(lost(1)));
  EXPECT_TRUE(owners.is_new(lost(1, began, 2))) << "another epoch, another owner";
}

TEST(LostOwners, other_states_and_causes_are_counted_elsewhere) {
  LostOwners owners(began);
  Record record = lost(1);
  record.evidence.cause = UnknownCause::timeout;
  EXPECT_FALSE(owners.is_new(record));
  record = lost(1);
  record.state = State::processing;
  EXPECT_FALSE(owners.is_new(record));
}

TEST(LostOwners, a_restart_counts_what_the_crash_left_and_not_what_is_old) {
  LostOwners owners(began);
  EXPECT_TRUE(owners.is_new(lost(1, began - 9min)));
  EXPECT_FALSE(owners.is_new(lost(2, began - 11min)));
  EXPECT_TRUE(owners.is_new(lost(3, began + 48h)));
}

TEST(LostOwners, what_was_resolved_is_forgotten) {
  LostOwners owners(began);
  EXPECT_TRUE(owners.is_new(lost(1)));
  owners.pass_ended();
  owners.pass_ended();
  EXPECT_TRUE(owners.is_new(lost(1)));
}

}  // namespace
}  // namespace onceward
