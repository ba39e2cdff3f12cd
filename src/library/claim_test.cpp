#include "onceward/claim.hpp"

#include <gtest/gtest.h>

#include "base/system.hpp"
#include "support/model_store.hpp"

namespace onceward {
namespace {

using Kind = Outcome::Kind;

class ClaimTest : public ::testing::Test {
 protected:
  static Command command(std::string payload = "p") {
    Command made;
    made.operation = "batch";
    made.key = "k";
    made.payload = std::move(payload);
    made.wait = Duration(0);
    return made;
  }
  Claim claim() {
    ClaimResult result = engine_.claim(command());
    EXPECT_TRUE(result.claim) << to_string(result.outcome.kind) << " " << result.outcome.message;
    return std::move(*result.claim);
  }
  Outcome asked_again(std::string payload = "p") {
    return engine_.claim(command(std::move(payload))).outcome;
  }

  Engine engine_ = std::move(*Engine::open({}));
};

TEST_F(ClaimTest, a_whole_life_ends_with_a_value_for_everyone_who_asks_again) {
  Claim mine = claim();
  EXPECT_EQ(mine.ticket().epoch, 1u);
  EXPECT_EQ(asked_again().kind, Kind::in_progress);
  EXPECT_EQ(asked_again("another").kind, Kind::mismatch);
  EXPECT_TRUE(mine.dispatch());
  EXPECT_TRUE(mine.renew());
  EXPECT_TRUE(mine.complete("done"));
  EXPECT_TRUE(mine.complete("done")) << "repeating is harmless";
  EXPECT_EQ(mine.complete("something else").error().code, Errc::conflict);
  const Outcome again = asked_again();
  EXPECT_EQ(again.kind, Kind::replayed);
  EXPECT_EQ(again.value, "done");
  EXPECT_EQ(again.operation_id, mine.ticket().operation_id);
  EXPECT_EQ(engine_.run(command(), [](const Ticket&) { return Effect::succeeded("no"); }).value, "done");
}

TEST_F(ClaimTest, a_failure_is_final_too) {
  EXPECT_TRUE(claim().fail("no such account"));
  const Outcome again = asked_again();
  EXPECT_TRUE(again.kind == Kind::replayed && again.failed);
  EXPECT_EQ(again.value, "no such account");
}

TEST_F(ClaimTest, a_released_key_may_run_again_with_a_higher_epoch) {
  EXPECT_TRUE(claim().release());
  Claim second = claim();
  EXPECT_EQ(second.ticket().epoch, 2u);
  EXPECT_TRUE(second.dispatch());
  EXPECT_TRUE(second.unknown());
  EXPECT_EQ(asked_again().kind, Kind::unknown);
}

TEST_F(ClaimTest, dropped_before_dispatch_it_is_released) {
  {
    const Claim dropped = claim();
  }
  EXPECT_EQ(claim().ticket().epoch, 2u);
}

TEST_F(ClaimTest, dropped_after_dispatch_it_is_unknown) {
  {
    Claim dropped = claim();
    EXPECT_TRUE(dropped.dispatch());
    EXPECT_TRUE(dropped.dispatched());
  }
  EXPECT_EQ(asked_again().kind, Kind::unknown);
}

TEST_F(ClaimTest, a_claim_keeps_what_it_needs_when_the_engine_goes_first) {
  Claim mine = claim();
  {
    const Engine gone = std::move(engine_);
  }
  EXPECT_TRUE(mine.dispatch());
  EXPECT_TRUE(mine.complete("late"));
}

TEST(ClaimStoreTest, a_lost_reply_is_asked_for_again_and_found_to_be_ours) {
  const SystemClock clock;
  auto store = std::make_unique<testing::ModelStore>(clock);
  for (const char* verb : {"claim", "dispatch", "complete"})
    store->fail_next(verb, {Errc::unavailable, true});
  Result<Engine> engine = Engine::open({}, std::move(store));
  ASSERT_TRUE(engine);
  Command command;
  command.operation = "batch";
  command.key = "k";
  ClaimResult result = engine->claim(command);
  ASSERT_TRUE(result.claim);
  EXPECT_TRUE(result.claim->dispatch());
  EXPECT_TRUE(result.claim->complete("once"));
}

TEST(ClaimStoreTest, while_the_store_cannot_answer_the_claim_is_still_ours) {
  const SystemClock clock;
  auto store = std::make_unique<testing::ModelStore>(clock);
  for (int i = 0; i < 2; ++i) store->fail_next("complete", {Errc::unavailable, false});
  Result<Engine> engine = Engine::open({}, std::move(store));
  ASSERT_TRUE(engine);
  Command command;
  command.operation = "batch";
  command.key = "k";
  ClaimResult result = engine->claim(command);
  ASSERT_TRUE(result.claim);
  EXPECT_EQ(result.claim->complete("value").error().code, Errc::unavailable);
  EXPECT_TRUE(result.claim->complete("value"));
  EXPECT_EQ(engine->claim(command).outcome.value, "value");
}

}  // namespace
}  // namespace onceward
