// Work that stored its outcome itself, together with its effect: that is what everybody is told, whatever
// came back.
#include "support/engine_fixture.hpp"

namespace onceward::testing {
namespace {

using namespace std::chrono_literals;

class Committed : public EngineTest {
 protected:
  // Work that ends as `effect` a second after its outcome ("committed", 200) was stored under its own claim.
  std::pair<std::shared_ptr<Listener>, std::shared_ptr<Listener>> run(Effect effect) {
    auto first = start(command(), work(std::move(effect), 2s));
    auto follower = start(command(), work());
    time.advance(1s);
    EXPECT_TRUE(complete_elsewhere(*record(), "committed"));
    time.advance(2s);
    return {first, follower};
  }
};

TEST_F(Committed, what_came_back_does_not_matter) {
  struct Case {
    const char* name;
    Effect effect;
  };
  const Case cases[] = {
      {"another answer", answer_of(201, "wire")},
      {"an answer that is tried again", answer_of(503)},
      {"an answer that says nothing", answer_of(504)},
      {"no answer", NoAnswer{{UnknownCause::reset}}},
      {"half an answer", NoAnswer{{UnknownCause::half_answer}}},
  };
  for (const Case& each : cases) {
    const auto [first, follower] = run(each.effect);
    const Executed* told = first->as<Executed>();
    ASSERT_TRUE(told) << each.name;
    EXPECT_TRUE(told->committed) << each.name;
    EXPECT_TRUE(told->stored) << each.name;
    EXPECT_EQ(std::get<Answer>(told->effect).response->body, "committed") << each.name;
    const Replayed* replayed = follower->as<Replayed>();
    ASSERT_TRUE(replayed) << each.name;
    EXPECT_EQ(replayed->record.response->body, "committed");
    EXPECT_EQ(state(), State::succeeded);
    time.advance(48h);  // the key is free for the next case
  }
}

TEST_F(Committed, an_answer_that_says_the_same_is_told_as_it_came) {
  Response wire{200, false, "Set-Cookie: a=b\r\n", "committed"};
  const auto [first, follower] =
      run(Answer{std::make_shared<const Response>(wire), OutcomeClass::replay, std::nullopt});
  const Executed* told = first->as<Executed>();
  ASSERT_TRUE(told);
  EXPECT_FALSE(told->committed);
  EXPECT_EQ(std::get<Answer>(told->effect).response->headers, wire.headers);
  EXPECT_EQ(record()->response->headers, "");
}

TEST_F(Committed, nothing_stored_and_no_answer_is_unknown_as_ever) {
  auto told = start(command(), work(NoAnswer{{UnknownCause::reset}}, 1s));
  time.advance(2s);
  ASSERT_TRUE(told->as<Executed>());
  EXPECT_FALSE(told->as<Executed>()->committed);
  EXPECT_EQ(state(), State::unknown);
}

TEST_F(Committed, what_an_operator_decided_while_the_answer_was_lost_is_a_replay) {
  auto told = start(command(), work(NoAnswer{{UnknownCause::reset}}, 1s));
  time.run();
  ASSERT_TRUE(resolve(*record(), State::succeeded, "decided"));
  time.advance(2s);
  ASSERT_TRUE(told->as<Replayed>());
  EXPECT_EQ(told->as<Replayed>()->record.response->body, "decided");
}

}  // namespace
}  // namespace onceward::testing
