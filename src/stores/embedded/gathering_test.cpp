#include "stores/embedded/gathering.hpp"

#include <gtest/gtest.h>

namespace onceward::embedded {
namespace {

using namespace std::chrono_literals;

// After so many batches alike, what the next one waits for.
Gathering::Wait wait_after(std::size_t answered, std::size_t queued, Gathering::Duration took) {
  Gathering gathering;
  for (int i = 0; i < 100; ++i) gathering.wrote(answered, queued, took);
  return gathering.next(queued);
}

TEST(Gathering, WaitsForMostOfAFewThatWereAnsweredAndForAPartOfASync) {
  EXPECT_EQ(wait_after(4, 4, 100us).wanted, 7u);
  EXPECT_GE(wait_after(4, 4, 100us).at_most, 45us);
  EXPECT_LE(wait_after(4, 4, 100us).at_most, 50us);
  EXPECT_LE(wait_after(4, 4, 10ms).at_most, 100us) << "a slow disk is no reason to hold a core";
  EXPECT_LE(wait_after(4, 4, 1us).at_most, 1us);
}

TEST(Gathering, ManyTakeTurnsButTheFirstOfThemWaitsForTheOthers) {
  EXPECT_EQ(wait_after(32, 32, 100us).at_most, 0us);
  EXPECT_EQ(wait_after(64, 1, 100us).wanted, 32u);
  EXPECT_GT(wait_after(64, 1, 100us).at_most, 0us);
}

TEST(Gathering, OneAloneNeverWaits) {
  Gathering gathering;
  EXPECT_EQ(gathering.next(1).at_most, 0us);
  for (int i = 0; i < 100; ++i) {
    gathering.wrote(1, 0, 100us);
    EXPECT_EQ(gathering.next(1).at_most, 0us);
  }
}

TEST(Gathering, DoesNotWaitWhenAllAreThere) {
  Gathering gathering;
  gathering.wrote(8, 0, 1ms);
  EXPECT_EQ(gathering.next(6).at_most, 0us);
  EXPECT_GT(gathering.next(5).at_most, 0us);
}

// How many batches go without a wait before the next that waits.
std::size_t passed_over(Gathering& gathering) {
  for (std::size_t count = 0;; ++count) {
    gathering.wrote(8, 0, 1ms);
    if (gathering.next(1).at_most > 0us) return count;
  }
}

TEST(Gathering, WaitsEverMoreRarelyInVainAndAgainOftenWhenItHelps) {
  Gathering gathering;
  for (const std::size_t expected : {0u, 1u, 3u, 7u, 15u, 31u, 63u, 63u}) {
    EXPECT_EQ(passed_over(gathering), expected);
    gathering.waited(true);
  }
  gathering.waited(false);
  for (const std::size_t expected : {31u, 15u, 7u, 3u, 1u, 0u, 0u}) {
    EXPECT_EQ(passed_over(gathering), expected);
    gathering.waited(false);
  }
}

}  // namespace
}  // namespace onceward::embedded
