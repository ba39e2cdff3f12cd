#include "stores/embedded/store_time.hpp"

#include <gtest/gtest.h>

#include "support/fakes.hpp"

namespace onceward::embedded {
namespace {

using namespace std::chrono_literals;
using testing::FakeClock;

TEST(StoreTime, FollowsAClockThatIsSteeredALittle) {
  FakeClock clock;
  StoreTime time(clock, {});
  clock.advance(10s);
  clock.jump_wall(900ms);
  EXPECT_EQ(time.now(), clock.now());
  clock.jump_wall(-900ms);
  EXPECT_EQ(time.now(), clock.now());
  EXPECT_TRUE(time.may_purge());
}

TEST(StoreTime, IgnoresAJumpUntilItHasLastedAnHour) {
  for (const Duration jump : {Duration(48h), Duration(-48h)}) {
    FakeClock clock;
    StoreTime time(clock, {});
    const Timestamp before = time.now();
    clock.jump_wall(jump);
    EXPECT_EQ(time.now(), before);
    EXPECT_FALSE(time.may_purge());
    clock.advance(59min);
    EXPECT_EQ(time.now(), before + 59min);
    EXPECT_FALSE(time.may_purge());
    clock.advance(1min);
    EXPECT_EQ(time.now(), clock.now());
    EXPECT_TRUE(time.may_purge());
  }
}

TEST(StoreTime, StartsTheHourAnewWhenTheClockJumpsAgain) {
  FakeClock clock;
  StoreTime time(clock, {});
  const Timestamp before = time.now();
  clock.jump_wall(48h);
  (void)time.now();
  clock.advance(50min);
  clock.jump_wall(1h);
  (void)time.now();
  clock.advance(50min);
  EXPECT_EQ(time.now(), before + 100min);
}

TEST(StoreTime, GoesOnAsBeforeWhenTheClockIsSetRight) {
  FakeClock clock;
  StoreTime time(clock, {});
  clock.jump_wall(48h);
  EXPECT_FALSE(time.may_purge());
  clock.jump_wall(-48h);
  EXPECT_EQ(time.now(), clock.now());
  EXPECT_TRUE(time.may_purge());
}

TEST(StoreTime, AJumpOfMinutesEndsNoLeaseAndPurgesOn) {
  FakeClock clock;
  StoreTime time(clock, {});
  const Timestamp before = time.now();
  clock.jump_wall(10min);
  EXPECT_EQ(time.now(), before);
  EXPECT_TRUE(time.may_purge());
}

TEST(StoreTime, WaitsAnHourWithPurgingWhenTheLogWasLastWrittenFarFromNow) {
  for (const Duration away : {Duration(48h), Duration(-48h)}) {
    FakeClock clock;
    StoreTime time(clock, clock.now() + away);
    EXPECT_FALSE(time.may_purge());
    clock.advance(1h);
    EXPECT_TRUE(time.may_purge());
  }
}

}  // namespace
}  // namespace onceward::embedded
