#include "client/retry_schedule.hpp"

#include <gtest/gtest.h>

namespace onceward::client {
namespace {

using namespace std::chrono_literals;

constexpr RetryPolicy policy{
    .attempts = 4, .first_delay = 100ms, .max_delay = 1s, .deadline = 10s, .attempt_timeout = 1s};
constexpr MonoTime start{1h};

TEST(Backoff, DoublesUpToItsLimit) {
  const Duration expected[] = {100ms, 200ms, 400ms, 800ms, 1s, 1s};
  for (std::size_t retry = 0; retry < std::size(expected); ++retry)
    EXPECT_EQ(backoff(policy, retry), expected[retry]) << retry;
  EXPECT_EQ(backoff(policy, 1'000'000), 1s);
  EXPECT_EQ(backoff({.first_delay = 5s, .max_delay = 1s}, 3), 1s);
}

struct Case {
  const char* name;
  Progress progress;
  Action action;
  std::optional<Duration> retry_after;
  double chance;
  Duration elapsed;
  std::variant<Pause, GiveUp> expected;
};

class NextPause : public testing::TestWithParam<Case> {};

TEST_P(NextPause, FollowsThePolicy) {
  const Case& c = GetParam();
  EXPECT_EQ(next_pause(policy, c.progress, c.action, c.retry_after, c.chance, start + c.elapsed), c.expected)
      << c.name;
}

constexpr auto none = std::optional<Duration>();

INSTANTIATE_TEST_SUITE_P(
    Table, NextPause,
    testing::Values(
        Case{"first retry", {1, 0, start}, Action::retry, none, 0.5, 0ms, Pause{50ms}},
        Case{"no luck, no pause", {1, 0, start}, Action::retry, none, 0.0, 0ms, Pause{0ms}},
        Case{"third retry", {3, 0, start}, Action::retry, none, 0.5, 0ms, Pause{200ms}},
        Case{"attempts used", {4, 0, start}, Action::retry, none, 0.5, 0ms, GiveUp{"all attempts were used"}},
        Case{"waits are no attempts", {0, 50, start}, Action::wait, none, 0.5, 0ms, Pause{500ms}},
        Case{"waiting is not limited by attempts", {4, 1, start}, Action::wait, none, 0.5, 0ms, Pause{50ms}},
        Case{"Retry-After, spread", {1, 0, start}, Action::retry, 2s, 0.5, 0ms, Pause{2050ms}},
        Case{"Retry-After 0", {3, 0, start}, Action::retry, 0ms, 0.9, 0ms, Pause{90ms}},
        Case{"Retry-After beyond the deadline",
             {1, 0, start},
             Action::wait,
             11s,
             0.5,
             0ms,
             GiveUp{"the server asks to wait for longer than the deadline"}},
        Case{"too little time left",
             {2, 0, start},
             Action::retry,
             none,
             0.5,
             9950ms,
             GiveUp{"the deadline would pass before the next attempt"}},
        Case{"just enough time left", {2, 0, start}, Action::retry, none, 0.5, 9899ms, Pause{100ms}},
        Case{"too late", {1, 0, start}, Action::retry, none, 0.0, 10s, GiveUp{"the deadline has passed"}}));

}  // namespace
}  // namespace onceward::client
