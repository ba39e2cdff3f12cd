// Quotas at the only place where they can be fair: after it is known that nobody else runs the key, before
// the claim.
#include "engine/admission.hpp"

#include <utility>

#include "support/engine_fixture.hpp"

namespace onceward::testing {
namespace {

using namespace std::chrono_literals;

// So many new keys, and so many executions at a time.
struct Purse {
  int keys = 100;
  int executions = 100;
};

class PurseAdmission final : public Admission {
 public:
  explicit PurseAdmission(Purse& purse) : purse_(purse) {}
  ~PurseAdmission() override { leave(); }
  std::optional<Duration> enter() override {
    if (purse_.keys == 0) return 7s;
    if (purse_.executions == 0) return 1s;
    --purse_.keys, --purse_.executions;
    has_key_ = executes_ = true;
    return std::nullopt;
  }
  std::optional<Duration> enter_again() override {
    if (purse_.executions == 0) return 1s;
    --purse_.executions;
    executes_ = true;
    return std::nullopt;
  }
  void granted(bool is_new) override {
    if (!is_new && has_key_) ++purse_.keys;
    has_key_ = false;
  }
  void leave() override {
    if (std::exchange(has_key_, false)) ++purse_.keys;
    if (std::exchange(executes_, false)) ++purse_.executions;
  }

 private:
  Purse& purse_;
  bool has_key_ = false;
  bool executes_ = false;
};

class AdmissionTest : public EngineTest {
 protected:
  Command charged(const std::string& body = "body", Duration wait = 5s) {
    Command made = command(body, wait);
    made.admission = std::make_shared<PurseAdmission>(purse);
    return made;
  }
  Purse purse;
};

TEST_F(AdmissionTest, a_new_key_without_room_is_refused_before_any_claim) {
  purse.keys = 0;
  auto w = work();
  auto told = start(charged(), w);
  time.run();
  ASSERT_TRUE(told->as<OverQuota>());
  EXPECT_EQ(told->as<OverQuota>()->retry_after, 7s);
  EXPECT_EQ(w->executed, 0);
  EXPECT_EQ(w->stood_down, 1);
  EXPECT_EQ(store.calls("claim"), 0);
  EXPECT_FALSE(record());
}

TEST_F(AdmissionTest, an_execution_is_charged_once_and_its_replays_never) {
  purse.keys = 1;
  auto first = start(charged(), work());
  time.run();
  ASSERT_TRUE(first->as<Executed>());
  EXPECT_EQ(purse.keys, 0);
  for (int i = 0; i < 3; ++i) {
    auto retry = start(charged(), work());
    auto other = start(charged("another body"), work());
    time.run();
    EXPECT_TRUE(retry->as<Replayed>());
    EXPECT_TRUE(other->as<Rejected>());
  }
  EXPECT_EQ(purse.keys, 0);
  EXPECT_EQ(purse.executions, 100);
}

TEST_F(AdmissionTest, duplicates_that_wait_take_no_room) {
  purse = {.keys = 1, .executions = 1};
  auto first = start(charged(), work(answer_of(201), 3s));
  auto second = start(charged(), work());
  auto third = start(charged(), work());
  time.advance(1s);
  EXPECT_EQ(purse.executions, 0);
  time.advance(3s);
  EXPECT_TRUE(first->as<Executed>());
  EXPECT_TRUE(second->as<Replayed>());
  EXPECT_TRUE(third->as<Replayed>());
  EXPECT_EQ(purse.executions, 1);
}

TEST_F(AdmissionTest, a_duplicate_of_another_machines_execution_waits_without_room) {
  const Record theirs = claim_elsewhere();
  purse = {.keys = 0, .executions = 0};
  auto told = start(charged(), work());
  time.advance(500ms);
  EXPECT_FALSE(told->what);
  ASSERT_TRUE(complete_elsewhere(theirs, "theirs"));
  time.advance(2s);
  EXPECT_TRUE(told->as<Replayed>());
}

TEST_F(AdmissionTest, a_key_that_may_run_again_is_not_new) {
  auto first = start(charged(), work(answer_of(503)));
  time.run();
  ASSERT_EQ(state(), State::released);
  purse.keys = 0;
  auto again = work();
  auto retry = start(charged(), again);
  time.run();
  EXPECT_TRUE(retry->as<Executed>());
  EXPECT_EQ(again->last_grant.epoch, 2u);
}

TEST_F(AdmissionTest, an_execution_that_runs_again_needs_room_to_run) {
  start(charged(), work(answer_of(503)));
  time.run();
  purse = {.keys = 0, .executions = 0};
  auto retry = start(charged(), work());
  time.run();
  ASSERT_TRUE(retry->as<OverQuota>());
  EXPECT_EQ(state(), State::released);
}

TEST_F(AdmissionTest, listening_for_a_late_answer_is_no_execution) {
  auto lost = work(NoAnswer{{UnknownCause::timeout, 0, 0}});
  lost->late_after = 5min;
  auto told = start(charged(), lost);
  time.run();
  ASSERT_TRUE(told->as<Executed>());
  EXPECT_EQ(purse.executions, 100);
}

TEST_F(AdmissionTest, a_store_that_fails_charges_nothing) {
  for (int i = 0; i < 2; ++i) store.fail_next("claim", {Errc::refused, false});
  auto told = start(charged(), work());
  time.run();
  EXPECT_TRUE(told->as<StoreFailed>());
  EXPECT_EQ(purse.keys, 100);
  EXPECT_EQ(purse.executions, 100);
}

}  // namespace
}  // namespace onceward::testing
