#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/system.hpp"
#include "onceward/claim.hpp"
#include "onceward/engine.hpp"
#include "support/telling_store.hpp"

namespace onceward {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EmitTest : public ::testing::Test {
 protected:
  Engine open(EngineOptions options = {}) {
    Result<Engine> opened = Engine::open(options, std::make_unique<testing::TellingStore>(clock_, told));
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }
  static Command command() { return {.operation = "charge", .key = "k", .payload = "p"}; }
  std::vector<std::string> types() const {
    std::vector<std::string> all;
    for (const Event& event : *told) all.push_back(event.type);
    return all;
  }
  std::shared_ptr<Events> told = std::make_shared<Events>();

 private:
  SystemClock clock_;
};

TEST_F(EmitTest, what_the_work_emits_is_written_with_its_outcome_and_a_replay_emits_nothing) {
  Engine engine = open();
  const auto work = [](const Ticket&) {
    return Effect::succeeded("done").emit("charged", R"({"sum":1})").emit("noted", "x", "text/plain");
  };
  const Outcome first = engine.run(command(), work);
  EXPECT_TRUE(first.ok() && first.told);
  EXPECT_THAT(types(), ElementsAre("charged", "noted"));
  EXPECT_EQ(told->front().id, first.operation_id + ":charged");
  EXPECT_THAT(told->front().payload, HasSubstr(R"("data":{"sum":1})"));
  EXPECT_TRUE(engine.run(command(), work).ok());
  EXPECT_EQ(told->size(), 2u);
}

TEST_F(EmitTest, rules_tell_too_and_a_later_event_of_a_type_takes_the_earlier_ones_place) {
  Engine engine =
      open({.operations = {
                {.name = "charge",
                 .policy = {.events = {{EventOn::succeeded, "charged"}, {EventOn::failed, "refused"}}}}}});
  engine.run(command(),
             [](const Ticket&) { return Effect::failed("no").emit("noted", "1").emit("noted", "2"); });
  EXPECT_THAT(types(), ElementsAre("refused", "noted"));
  EXPECT_THAT(told->back().payload, HasSubstr(R"("data":2)"));
}

TEST_F(EmitTest, what_is_released_or_unknown_tells_nothing) {
  Engine engine = open();
  engine.run(command(), [](const Ticket&) { return Effect::released("busy").emit("a", "1"); });
  engine.run(command(), [](const Ticket&) { return Effect::unknown("lost").emit("a", "1"); });
  EXPECT_THAT(types(), ElementsAre());
}

TEST_F(EmitTest, a_claim_is_completed_with_events_and_refuses_bad_ones) {
  Engine engine = open();
  ClaimResult result = engine.claim(command());
  ASSERT_TRUE(result.claim);
  const Result<Done> bad = result.claim->complete(Effect::succeeded("v").emit("a b", "1"));
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, Errc::invalid);
  EXPECT_TRUE(result.claim->complete(Effect::succeeded("v").emit("a", "1")));
  EXPECT_THAT(types(), ElementsAre("a"));
}

TEST_F(EmitTest, an_event_that_cannot_be_kept_is_no_reason_to_lose_the_outcome) {
  SystemClock clock;
  Result<Engine> engine = Engine::open({}, std::make_unique<testing::ModelStore>(clock));
  ASSERT_TRUE(engine);
  const Outcome outcome =
      engine->run(command(), [](const Ticket&) { return Effect::succeeded("done").emit("a", "1"); });
  EXPECT_TRUE(outcome.ok() && outcome.stored);
  EXPECT_FALSE(outcome.told);
  EXPECT_EQ(outcome.message, "this store keeps no events");
  const Result<Engine> refused =
      Engine::open({.operations = {{.name = "charge", .policy = {.events = {{EventOn::succeeded, "a"}}}}}},
                   std::make_unique<testing::ModelStore>(clock));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("events"));
}

}  // namespace
}  // namespace onceward
