#include "core/pause.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

TEST(Pause, doubles_up_to_a_minute) {
  EXPECT_EQ(pause_after(1, Duration(1000)), Duration(1000));
  EXPECT_EQ(pause_after(2, Duration(1000)), Duration(2000));
  EXPECT_EQ(pause_after(5, Duration(1000)), Duration(16'000));
  EXPECT_EQ(pause_after(7, Duration(1000)), Duration(60'000));
  EXPECT_EQ(pause_after(1'000'000'000, Duration(1)), Duration(60'000));
}

}  // namespace
}  // namespace onceward
