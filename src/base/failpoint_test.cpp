#include "base/failpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>

namespace onceward {
namespace {

using ::testing::HasSubstr;

#ifdef ONCEWARD_FAILPOINTS

class FailpointTest : public ::testing::Test {
 protected:
  void TearDown() override { ASSERT_TRUE(arm_failpoints("")); }
};

TEST_F(FailpointTest, nothing_fails_unless_armed) {
  EXPECT_FALSE(failpoints_armed());
  EXPECT_FALSE(fails_at(Failpoint::claim_before));
}

TEST_F(FailpointTest, an_error_happens_exactly_when_asked_for) {
  const struct {
    const char* text;
    const char* passes;  // of claim.before, one letter each: e fails, . does not
  } table[] = {
      {"claim.before:error", "eeee"},
      {"claim.before:error@1", "e..."},
      {"claim.before:error@3", "..e."},
      {"claim.before:error@2-3", ".ee."},
      {"claim.before:error@1,claim.before:error@4", "e..e"},
      {"claim.after:error", "...."},
      {"claim.before:sleep=0@1,claim.before:error", ".eee"},  // the first rule that fits decides
      {"answer.after:error,claim.before:error@2-4", ".eee"},
  };
  for (const auto& row : table) {
    ASSERT_TRUE(arm_failpoints(row.text)) << row.text;
    EXPECT_TRUE(failpoints_armed());
    std::string seen;
    for (int i = 0; i < 4; ++i) seen += fails_at(Failpoint::claim_before) ? 'e' : '.';
    EXPECT_EQ(seen, row.passes) << row.text;
  }
}

TEST_F(FailpointTest, every_point_has_its_own_name_and_count) {
  const std::pair<const char*, Failpoint> table[] = {
      {"lookup.before", Failpoint::lookup_before},     {"lookup.after", Failpoint::lookup_after},
      {"claim.before", Failpoint::claim_before},       {"claim.after", Failpoint::claim_after},
      {"dispatch.before", Failpoint::dispatch_before}, {"dispatch.after", Failpoint::dispatch_after},
      {"renew.before", Failpoint::renew_before},       {"renew.after", Failpoint::renew_after},
      {"complete.before", Failpoint::complete_before}, {"complete.after", Failpoint::complete_after},
      {"release.before", Failpoint::release_before},   {"release.after", Failpoint::release_after},
      {"unknown.before", Failpoint::unknown_before},   {"unknown.after", Failpoint::unknown_after},
      {"resolve.before", Failpoint::resolve_before},   {"resolve.after", Failpoint::resolve_after},
      {"purge.before", Failpoint::purge_before},       {"purge.after", Failpoint::purge_after},
      {"connect.before", Failpoint::connect_before},   {"send.before", Failpoint::send_before},
      {"send.after", Failpoint::send_after},           {"receive.after", Failpoint::receive_after},
      {"answer.before", Failpoint::answer_before},     {"answer.after", Failpoint::answer_after},
  };
  ASSERT_EQ(std::size(table), failpoint_count);
  for (const auto& [name, armed] : table) {
    ASSERT_TRUE(arm_failpoints(std::string(name) + ":error@1"));
    for (const auto& [other, passed] : table) EXPECT_EQ(fails_at(passed), passed == armed) << name << other;
  }
}

TEST_F(FailpointTest, sleep_pauses_the_thread_and_goes_on) {
  ASSERT_TRUE(arm_failpoints("send.before:sleep=30@1"));
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(fails_at(Failpoint::send_before));
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(30));
}

TEST_F(FailpointTest, kill_ends_the_process_at_that_very_point) {
  ASSERT_TRUE(arm_failpoints("send.after:kill@2"));
  EXPECT_FALSE(fails_at(Failpoint::send_after));
  EXPECT_EXIT(
      {
        (void)fails_at(Failpoint::send_after);
        std::_Exit(0);
      },
      ::testing::KilledBySignal(SIGKILL), "send.after");
}

TEST_F(FailpointTest, text_that_makes_no_sense_is_refused_and_named) {
  const struct {
    const char* text;
    const char* complaint;
  } table[] = {
      {"claim", "not name:action"},
      {"clam.before:kill", "'clam.before:kill': no such point"},
      {":kill", "no such point"},
      {"claim.before:", "the action is one of"},
      {"claim.before:explode", "the action is one of"},
      {"claim.before:sleep", "the action is one of"},
      {"claim.before:sleep=", "the action is one of"},
      {"claim.before:sleep=600001", "the action is one of"},
      {"claim.before:sleep=-1", "the action is one of"},
      {"claim.before:kill@", "after @"},
      {"claim.before:kill@0", "after @"},
      {"claim.before:kill@x", "after @"},
      {"claim.before:kill@2-1", "after @"},
      {"claim.before:kill@2-", "after @"},
      {"claim.before:kill@-2", "after @"},
      {"claim.before:kill@1@2", "after @"},
      {"claim.before:kill@99999999999999999999", "after @"},
      {"claim.before:kill,", "ends with a comma"},
      {",claim.before:kill", "not name:action"},
      {"claim.before:kill, send.after:kill", "no such point"},
  };
  for (const auto& row : table) {
    const Result<Done> armed = arm_failpoints(row.text);
    ASSERT_FALSE(armed) << row.text;
    EXPECT_EQ(armed.error().code, Errc::invalid);
    EXPECT_THAT(armed.error().message, HasSubstr(row.complaint));
    EXPECT_FALSE(failpoints_armed()) << row.text;
  }
}

#else

static_assert(!fails_at(Failpoint::claim_before) && !failpoints_armed());

TEST(Failpoint, a_build_without_failpoints_refuses_to_be_armed) {
  EXPECT_TRUE(arm_failpoints(""));
  const Result<Done> armed = arm_failpoints("claim.before:kill");
  ASSERT_FALSE(armed);
  EXPECT_THAT(armed.error().message, HasSubstr("no failpoints"));
}

#endif

}  // namespace
}  // namespace onceward
