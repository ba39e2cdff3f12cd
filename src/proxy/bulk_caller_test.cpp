#include "proxy/bulk_caller.hpp"

#include <gtest/gtest.h>

#include "support/virtual_executor.hpp"

namespace onceward {
namespace {

using namespace std::chrono_literals;

class BulkCallerTest : public ::testing::Test {
 protected:
  void begin(std::optional<Duration> patience) {
    caller_ = std::make_shared<BulkCaller>(run_.executor, run_.clock, patience);
    spawn(wait());
  }
  Task<> wait() {
    co_await *caller_;
    over_ = true;
  }

  onceward::testing::VirtualRun run_;
  std::shared_ptr<BulkCaller> caller_;
  bool over_ = false;
};

TEST_F(BulkCallerTest, without_a_patience_it_stays_for_the_outcome) {
  begin(std::nullopt);
  caller_->begun({});
  run_.advance(1h);
  EXPECT_FALSE(over_);
  caller_->told(Unreachable{"x"});
  EXPECT_TRUE(over_);
  EXPECT_TRUE(caller_->outcome());
}

TEST_F(BulkCallerTest, an_outcome_in_time_is_what_it_gets) {
  begin(1s);
  caller_->begun({});
  run_.advance(500ms);
  caller_->told(Unreachable{"x"});
  EXPECT_TRUE(over_ && caller_->outcome());
}

TEST_F(BulkCallerTest, its_patience_ends_when_the_time_is_up_and_the_work_has_begun) {
  begin(1s);
  run_.advance(1s);
  EXPECT_FALSE(over_) << "there is no operation to tell of yet";
  caller_->begun({.operation_id = {}, .epoch = 7, .hold_until = {}, .owner = {}});
  EXPECT_TRUE(over_ && !caller_->outcome());
  EXPECT_EQ(caller_->grant().epoch, 7u);
}

TEST_F(BulkCallerTest, work_that_has_begun_is_waited_for_until_the_time_is_up) {
  begin(1s);
  caller_->begun({});
  run_.advance(999ms);
  EXPECT_FALSE(over_);
  run_.advance(1ms);
  EXPECT_TRUE(over_ && !caller_->outcome());
  caller_->told(Unreachable{"nobody waits any more"});
}

TEST_F(BulkCallerTest, without_time_it_only_waits_for_the_work_to_begin) {
  begin(0s);
  EXPECT_FALSE(over_);
  caller_->begun({});
  EXPECT_TRUE(over_ && !caller_->outcome());
}

}  // namespace
}  // namespace onceward
