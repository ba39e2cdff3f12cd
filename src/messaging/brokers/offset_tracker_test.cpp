#include "messaging/brokers/offset_tracker.hpp"

#include <gtest/gtest.h>

namespace onceward::messaging {
namespace {

TEST(OffsetTracker, commits_what_ended_in_order) {
  OffsetTracker tracker;
  tracker.begin(7);
  tracker.begin(8);
  EXPECT_EQ(tracker.end(7), 8);
  EXPECT_EQ(tracker.end(8), 9);
}

TEST(OffsetTracker, holds_back_what_ended_before_an_earlier_one) {
  OffsetTracker tracker;
  for (const int offset : {3, 4, 5}) tracker.begin(offset);
  EXPECT_EQ(tracker.end(5), 3);  // 3 must come again
  EXPECT_EQ(tracker.end(4), std::nullopt);
  EXPECT_EQ(tracker.end(3), 6);
}

TEST(OffsetTracker, steps_over_offsets_that_never_came) {
  OffsetTracker tracker;
  tracker.begin(1);
  tracker.begin(10);
  EXPECT_EQ(tracker.end(1), 10);
  EXPECT_EQ(tracker.end(10), 11);
}

TEST(OffsetTracker, knows_nothing_of_what_it_did_not_begin) {
  OffsetTracker tracker;
  EXPECT_EQ(tracker.end(1), std::nullopt);
  tracker.begin(1);
  EXPECT_EQ(tracker.end(1), 2);
  EXPECT_EQ(tracker.end(1), std::nullopt);
}

}  // namespace
}  // namespace onceward::messaging
