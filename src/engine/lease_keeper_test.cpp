// Leases of running work: renewed at a third, never beyond max_hold, quiet once the work is over.
#include "support/engine_fixture.hpp"

namespace onceward::testing {
namespace {

using namespace std::chrono_literals;

TEST_F(EngineTest, a_lease_is_renewed_at_a_third_of_its_length) {
  start(command(), work(answer_of(201), 100s));
  time.advance(9999ms);
  EXPECT_EQ(store.calls("renew"), 0);
  time.advance(1ms);
  EXPECT_EQ(store.calls("renew"), 1);
  EXPECT_EQ(record()->lease_until, time.clock.now() + 30s);
  time.advance(80s);
  EXPECT_EQ(store.calls("renew"), 9);
  EXPECT_EQ(state(), State::processing);
  time.advance(20s);
  EXPECT_EQ(state(), State::succeeded);
  const int renewals = store.calls("renew");
  time.advance(60s);
  EXPECT_EQ(store.calls("renew"), renewals);
}

TEST_F(EngineTest, renewals_stop_at_max_hold_and_the_key_becomes_unknown) {
  policy.max_hold = 60s;
  auto told = start(command(), work(answer_of(201, "slow"), 100s));
  time.advance(59s);
  EXPECT_EQ(state(), State::processing);
  time.advance(1s);
  EXPECT_EQ(state(), State::unknown);
  const int renewals = store.calls("renew");
  time.advance(30s);
  EXPECT_EQ(store.calls("renew"), renewals);
  time.advance(20s);  // the same epoch still settles it
  EXPECT_EQ(state(), State::succeeded);
  EXPECT_TRUE(told->as<Executed>()->stored);
}

TEST_F(EngineTest, a_failed_renewal_is_tried_again_within_the_lease) {
  for (int i = 0; i < 5; ++i) store.fail_next("renew", {Errc::unavailable, false});
  start(command(), work(answer_of(201), 40s));
  time.advance(35s);
  EXPECT_EQ(state(), State::processing);
}

TEST_F(EngineTest, a_renewal_refused_by_the_fence_is_not_repeated) {
  start(command(), work(answer_of(201), 100s));
  time.advance(1s);
  ASSERT_TRUE(resolve(*record(), State::released));
  time.advance(90s);
  EXPECT_EQ(store.calls("renew"), 1);
}

TEST_F(EngineTest, work_that_ends_while_a_renewal_is_on_its_way_waits_for_it) {
  store.hold_replies_of("renew");
  auto told = start(command(), work(answer_of(201), 11s));
  time.advance(12s);
  EXPECT_EQ(told->times, 0);
  store.release_held();
  time.run();
  EXPECT_TRUE(told->as<Executed>());
}

}  // namespace
}  // namespace onceward::testing
