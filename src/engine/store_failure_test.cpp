// A store that fails before, between and after (I5, I6, I10; CONTRACT 5.6), and leases that end.
#include "support/engine_fixture.hpp"

namespace onceward::testing {
namespace {

using namespace std::chrono_literals;

TEST_F(EngineTest, a_store_that_cannot_answer_means_nothing_is_forwarded) {  // I6
  for (int i = 0; i < 2; ++i) store.fail_next("claim", {Errc::unavailable, false});
  auto w = work();
  auto told = start(command(), w);
  time.run();
  ASSERT_TRUE(told->as<StoreFailed>());
  EXPECT_EQ(w->executed, 0);
  EXPECT_EQ(w->stood_down, 1);
}

TEST_F(EngineTest, a_store_that_is_full_or_unreadable_means_nothing_is_forwarded) {  // I5, I6
  for (Errc code : {Errc::refused, Errc::unreadable}) {
    store.fail_next("claim", {code, false});
    auto w = work();
    auto told = start(command(), w);
    time.run();
    ASSERT_TRUE(told->as<StoreFailed>());
    EXPECT_EQ(told->as<StoreFailed>()->error.code, code);
    EXPECT_EQ(w->executed, 0);
  }
}

TEST_F(EngineTest, a_claim_whose_reply_was_lost_is_asked_again_by_the_same_owner) {  // I10
  store.fail_next("claim", {Errc::unavailable, true});
  auto w = work();
  auto told = start(command(), w);
  time.run();
  EXPECT_TRUE(told->as<Executed>());
  EXPECT_EQ(w->last_grant.epoch, 1u);
  EXPECT_EQ(store.calls("claim"), 2);
}

TEST_F(EngineTest, a_claim_whose_fate_was_never_learned_is_freed_when_the_store_is_back) {
  store.fail_next("claim", {Errc::unavailable, true});
  store.fail_next("claim", {Errc::unavailable, false});
  store.fail_next("lookup", {Errc::unavailable, false});
  auto told = start(command(), work());
  time.run();
  EXPECT_TRUE(told->as<StoreFailed>());
  EXPECT_EQ(state(), State::processing);
  EXPECT_EQ(engine.executions(), 1u) << "whoever shuts down must know that somebody still waits";
  time.advance(1s);
  EXPECT_EQ(state(), State::released);
  EXPECT_EQ(engine.executions(), 0u);
  auto retry = start(command("another"), work());
  time.run();
  EXPECT_TRUE(retry->as<Executed>());
}

TEST_F(EngineTest, a_claim_is_freed_also_when_the_second_question_was_refused) {
  store.fail_next("claim", {Errc::unavailable, true});
  store.fail_next("claim", {Errc::refused, false});
  start(command(), work());
  time.advance(1s);
  EXPECT_EQ(state(), State::released);
}

TEST_F(EngineTest, a_claim_learned_of_after_its_lease_sends_nothing_and_is_freed) {  // I4, I10
  store.fail_next("claim", {Errc::unavailable, true});
  store.hold_replies_of("claim");
  auto w = work();
  auto told = start(command(), w);
  time.run();
  time.advance(command().policy->lease + 1s);
  store.release_held();
  time.run();
  ASSERT_TRUE(told->as<StoreFailed>());
  EXPECT_EQ(w->executed, 0);
  time.advance(1s);
  EXPECT_EQ(state(), State::released);
}

TEST_F(EngineTest, freeing_an_orphan_never_touches_another_owners_claim) {  // I3
  for (int i = 0; i < 2; ++i) store.fail_next("claim", {Errc::unavailable, false});
  start(command(), work());
  time.run();
  const Record theirs = claim_elsewhere();
  time.advance(10s);
  EXPECT_EQ(state(), State::processing);
  EXPECT_TRUE(complete_elsewhere(theirs, "theirs"));
}

TEST_F(EngineTest, an_outcome_that_cannot_be_stored_is_told_with_stored_false_and_stored_later) {  // 5.6
  for (int i = 0; i < 5; ++i) store.fail_next("complete", {Errc::unavailable, false});
  auto told = start(command(), work(answer_of(201, "true")));
  time.run();
  ASSERT_TRUE(told->as<Executed>());
  EXPECT_FALSE(told->as<Executed>()->stored);
  EXPECT_EQ(std::get<Answer>(told->as<Executed>()->effect).response->body, "true");
  EXPECT_EQ(state(), State::processing);
  time.advance(5s);
  EXPECT_EQ(state(), State::succeeded);
  EXPECT_EQ(told->times, 1);
}

TEST_F(EngineTest, an_outcome_whose_reply_was_lost_is_told_as_stored) {  // I10
  store.fail_next("complete", {Errc::unavailable, true});
  auto told = start(command(), work());
  time.run();
  EXPECT_TRUE(told->as<Executed>()->stored);
  EXPECT_EQ(store.calls("complete"), 2);
}

TEST_F(EngineTest, an_outcome_that_is_never_stored_leaves_the_key_unknown) {  // 5.6, I4
  for (int i = 0; i < 100'000; ++i) {
    store.fail_next("complete", {Errc::unavailable, false});
    store.fail_next("renew", {Errc::unavailable, false});
  }
  auto told = start(command(), work());
  time.advance(31s);
  EXPECT_FALSE(told->as<Executed>()->stored);
  EXPECT_EQ(state(), State::unknown);
  EXPECT_EQ(engine.executions(), 0u);
}

TEST_F(EngineTest, an_owner_that_could_not_store_its_outcome_says_why_when_the_store_is_back) {
  for (int i = 0; i < 100'000; ++i) {
    store.fail_next("complete", {Errc::unavailable, false});
    store.fail_next("renew", {Errc::unavailable, false});
  }
  for (int i = 0; i < 5; ++i) store.fail_next("unknown", {Errc::unavailable, false});
  start(command(), work(answer_of(201, "four")));
  time.advance(29s);
  EXPECT_EQ(state(), State::processing) << "while the lease is held it still tries to store the outcome";
  time.advance(10s);
  ASSERT_EQ(state(), State::unknown);
  EXPECT_EQ(record()->evidence.cause, UnknownCause::store_failure);
  EXPECT_EQ(record()->evidence.status_seen, 201);
  EXPECT_EQ(record()->evidence.bytes_seen, 4u);
}

TEST_F(EngineTest, an_outcome_refused_by_the_fence_gives_way_to_the_stored_one) {  // I3
  auto told = start(command(), work(answer_of(201, "mine"), 5s));
  time.advance(1s);
  ASSERT_TRUE(resolve(*record(), State::succeeded, "the operator's"));
  time.advance(5s);
  ASSERT_TRUE(told->as<Replayed>());
  EXPECT_EQ(told->as<Replayed>()->record.response->body, "the operator's");
}

TEST_F(EngineTest, an_outcome_refused_by_the_fence_never_borrows_the_answer_of_another_life_of_the_key) {
  policy.ttl = 1s;
  auto told = start(command("old"), work(answer_of(201, "answer to old"), 20s));
  time.advance(1s);
  ASSERT_TRUE(resolve(*record(), State::succeeded, "the operator's"));
  time.advance(5s);  // gone; the key now stands for another request
  policy.ttl = 24h;
  ASSERT_TRUE(complete_elsewhere(claim_elsewhere("new"), "answer to new"));
  time.advance(20s);
  ASSERT_TRUE(told->as<Executed>());
  EXPECT_EQ(std::get<Answer>(told->as<Executed>()->effect).response->body, "answer to old");
  EXPECT_FALSE(told->as<Executed>()->stored);
}

TEST_F(EngineTest, a_lease_that_ended_before_the_start_sends_nothing_and_frees_the_key) {
  store.hold_replies_of("claim");
  auto w = work();
  auto told = start(command(), w);
  time.advance(30s);
  store.release_held();
  time.run();
  ASSERT_TRUE(told->as<StoreFailed>());
  EXPECT_EQ(told->as<StoreFailed>()->error.code, Errc::stale);
  EXPECT_EQ(w->executed, 0);
  EXPECT_EQ(state(), State::released);
}

TEST_F(EngineTest, a_lease_ends_for_its_owner_before_it_ends_for_a_store_that_counts_milliseconds) {
  time.advance(999us);  // the claim is granted late in a millisecond, which the store rounds down
  store.hold_replies_of("claim");
  auto w = work();
  start(command(), w);
  time.advance(30s - 500us);
  EXPECT_EQ(state(), State::unknown);
  store.release_held();
  time.run();
  EXPECT_EQ(w->executed, 0);
}

TEST_F(EngineTest, a_wall_clock_that_jumps_does_not_move_the_lease) {
  store.hold_replies_of("claim");
  auto w = work();
  start(command(), w);
  time.advance(29s);
  time.clock.jump_wall(-10min);
  store.release_held();
  time.advance(2s);
  EXPECT_EQ(w->executed, 1);
}

TEST_F(EngineTest, a_late_claim_of_a_finished_owner_does_not_take_the_key_again) {
  // The first question is lost on its way and arrives when its owner has long released the key.
  store.fail_next("claim", {Errc::unavailable, false});
  start(command(), work(answer_of(503)));
  time.run();
  ASSERT_EQ(state(), State::released);
  ClaimRequest late;
  late.scope = scope();
  late.operation_id = record()->operation_id;
  late.owner = record()->owner;
  late.fingerprint = fingerprint("body");
  late.request = std::make_shared<const RequestInfo>(RequestInfo{"t", "op", "", {}});
  late.lease = policy.lease;
  late.max_hold = policy.max_hold;
  const auto reply = call<ClaimReply>([&](auto& r) { return store.claim(late, r); });
  EXPECT_FALSE(reply->granted);
  EXPECT_EQ(state(), State::released);
}

}  // namespace
}  // namespace onceward::testing
