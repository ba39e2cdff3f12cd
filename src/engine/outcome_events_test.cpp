#include "engine/outcome_events.hpp"

#include <gmock/gmock.h>

#include "support/engine_fixture.hpp"
#include "support/telling_store.hpp"

namespace onceward::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class OutcomeEventsTest : public EngineTest {
 protected:
  OutcomeEventsTest() {
    policy.events = {{EventOn::succeeded, "made"}, {EventOn::failed, "lost"}};
    telling.events().use([this](std::uint16_t partition) { rung.push_back(partition); });
  }
  ~OutcomeEventsTest() override {
    time.advance(48h);
    EXPECT_EQ(telling.executions(), 0u);
  }
  std::shared_ptr<Listener> run(std::shared_ptr<Work> work) {
    auto listener = std::make_shared<Listener>();
    telling.start(time.executor, command(), std::move(work), listener);
    time.advance(1s);
    return listener;
  }
  std::vector<std::string> types() const {
    std::vector<std::string> all;
    for (const Event& event : *told) all.push_back(event.type);
    return all;
  }

  std::shared_ptr<Events> told = std::make_shared<Events>();
  TellingStore telling_store{time.clock, told};
  Engine telling{telling_store, time.clock, random};
  std::vector<std::uint16_t> rung;
};

TEST_F(OutcomeEventsTest, an_outcome_is_told_once_and_the_relay_is_woken) {
  const auto first = run(work(answer_of(201)));
  const Executed* executed = first->as<Executed>();
  ASSERT_TRUE(executed);
  ASSERT_EQ(told->size(), 1u);
  EXPECT_EQ(told->front().id, to_string(executed->record.operation_id) + ":made");
  EXPECT_THAT(rung, ElementsAre(outbox_partition_of(scope())));
  EXPECT_TRUE(run(work())->as<Replayed>());
  EXPECT_EQ(told->size(), 1u);
}

TEST_F(OutcomeEventsTest, a_failure_is_told_by_its_own_rule) {
  run(work(answer_of(422)));
  EXPECT_THAT(types(), ElementsAre("lost"));
}

TEST_F(OutcomeEventsTest, what_may_run_again_tells_nothing) {
  run(work(answer_of(503)));
  run(work(answer_of(502)));
  EXPECT_THAT(types(), IsEmpty());
  EXPECT_THAT(rung, IsEmpty());
}

TEST_F(OutcomeEventsTest, a_write_whose_reply_was_lost_tells_once) {
  telling_store.fail_next("complete", {Errc::unavailable, true});
  EXPECT_TRUE(run(work(answer_of(201)))->as<Executed>());
  EXPECT_THAT(types(), ElementsAre("made"));
}

TEST_F(OutcomeEventsTest, a_store_without_an_outbox_is_given_no_events) {
  EXPECT_FALSE(engine.events().kept());
  start(command(), work(answer_of(201)));
  time.advance(1s);
  EXPECT_EQ(state(), State::succeeded);
}

}  // namespace
}  // namespace onceward::testing
