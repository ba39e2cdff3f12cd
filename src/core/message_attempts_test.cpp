#include "core/message_attempts.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

struct Case {
  const char* name;
  AttemptLimit limit;
  Epoch attempt;
  std::uint64_t last;
};

class AttemptLimitTest : public ::testing::TestWithParam<Case> {};

TEST_P(AttemptLimitTest, is_what_the_record_bears_out) {
  EXPECT_EQ(GetParam().limit.at(GetParam().attempt), GetParam().last);
}

INSTANTIATE_TEST_SUITE_P(All, AttemptLimitTest,
                         ::testing::Values(Case{"new", {5, 0}, 1, 5}, Case{"used_up", {5, 0}, 6, 5},
                                           Case{"put_back", {5, 5}, 6, 10},
                                           Case{"put_back_and_used_up", {5, 5}, 11, 10},
                                           Case{"put_back_after_a_copy_had_come", {5, 5}, 7, 10},
                                           Case{"never_tried_so_often", {5, 4'294'967'295}, 1, 5},
                                           Case{"not_tried_so_often_yet", {5, 5}, 5, 5},
                                           Case{"the_largest_number", {5, most}, 1, 5},
                                           Case{"no_limit", {most, 0}, 1, most},
                                           Case{"no_limit_and_put_back", {most, 7}, 8, most}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace onceward
