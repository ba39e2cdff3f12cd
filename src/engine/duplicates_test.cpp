// Many callers of one key: one store claim, one execution, everybody answered (I7; DESIGN 3, Waiting).
#include "support/engine_fixture.hpp"

namespace onceward::testing {
namespace {

using namespace std::chrono_literals;

TEST_F(EngineTest, a_thousand_duplicates_cost_one_claim_and_are_all_answered) {
  std::vector<std::shared_ptr<Listener>> callers;
  std::vector<std::shared_ptr<ScriptedWork>> works;
  for (int i = 0; i < 1000; ++i) {
    works.push_back(work(answer_of(201, "made"), 2s));
    callers.push_back(start(command(), works.back()));
  }
  time.advance(3s);
  int executed = 0;
  int replayed = 0;
  for (const auto& caller : callers) {
    ASSERT_EQ(caller->times, 1);
    executed += caller->as<Executed>() != nullptr;
    if (const auto* replay = caller->as<Replayed>()) {
      ++replayed;
      EXPECT_EQ(replay->record.response->body, "made");
    }
  }
  int runs = 0;
  for (const auto& w : works) runs += w->executed;
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(executed, 1);
  EXPECT_EQ(replayed, 999);
  EXPECT_EQ(store.calls("claim"), 1);
  EXPECT_EQ(store.calls("lookup"), 0);
}

TEST_F(EngineTest, a_duplicate_waits_no_longer_than_it_has_time) {
  start(command(), work(answer_of(201), 10s));
  auto none = start(command("body", 0s), work());
  auto some = start(command("body", 3s), work());
  time.run();
  ASSERT_TRUE(none->as<StillRunning>());
  EXPECT_EQ(none->as<StillRunning>()->record.epoch, 1u);
  EXPECT_EQ(some->times, 0);
  time.advance(2999ms);
  EXPECT_EQ(some->times, 0);
  time.advance(1ms);
  EXPECT_TRUE(some->as<StillRunning>());
}

TEST_F(EngineTest, a_duplicate_without_time_still_learns_what_the_store_says) {
  store.hold_replies_of("claim");
  start(command(), work(answer_of(201), 1s));
  auto none = start(command("body", 0s), work());
  time.advance(100ms);
  EXPECT_EQ(none->times, 0);
  store.release_held();
  time.run();
  ASSERT_TRUE(none->as<StillRunning>());
  EXPECT_TRUE(none->as<StillRunning>()->record.request);
}

TEST_F(EngineTest, a_different_request_is_told_so_while_the_first_is_running) {
  start(command("one"), work(answer_of(201), 10s));
  auto w = work();
  auto other = start(command("two"), w);
  time.run();
  ASSERT_TRUE(other->as<Rejected>());
  EXPECT_EQ(other->as<Rejected>()->why, Rejection::mismatch);
  EXPECT_EQ(w->executed, 0);
}

TEST_F(EngineTest, a_different_request_that_came_while_the_claim_was_asked_is_told_so_when_it_is_known) {
  store.hold_replies_of("claim");
  start(command("one"), work(answer_of(201), 10s));
  auto other = start(command("two"), work());
  time.run();
  EXPECT_EQ(other->times, 0);
  store.release_held();
  time.run();
  EXPECT_EQ(other->as<Rejected>()->why, Rejection::mismatch);
}

TEST_F(EngineTest, when_the_first_is_released_one_of_those_who_waited_executes) {
  auto first = work(answer_of(503), 1s);
  start(command(), first);
  auto second = work(answer_of(201), 1s);
  auto third = work(answer_of(201), 1s);
  auto told_second = start(command(), second);
  auto told_third = start(command(), third);
  time.advance(3s);
  EXPECT_EQ(first->executed + second->executed + third->executed, 2);
  EXPECT_EQ(told_second->times + told_third->times, 2);
  EXPECT_EQ(state(), State::succeeded);
}

TEST_F(EngineTest, what_runs_on_another_machine_is_waited_for_and_replayed_at_its_wake_up) {
  const Record theirs = claim_elsewhere();
  auto w = work();
  auto told = start(command(), w);
  time.advance(100ms);
  EXPECT_EQ(told->times, 0);
  ASSERT_TRUE(complete_elsewhere(theirs, "theirs"));
  store.wake(scope());
  time.run();
  ASSERT_TRUE(told->as<Replayed>());
  EXPECT_EQ(told->as<Replayed>()->record.response->body, "theirs");
  EXPECT_EQ(w->executed, 0);
}

TEST_F(EngineTest, a_lost_wake_up_is_made_up_for_by_the_slow_poll) {
  const Record theirs = claim_elsewhere();
  auto told = start(command(), work());
  time.advance(100ms);
  ASSERT_TRUE(complete_elsewhere(theirs, "theirs"));
  time.advance(1s);
  EXPECT_TRUE(told->as<Replayed>());
}

TEST_F(EngineTest, a_wake_up_and_a_poll_in_the_same_instant_answer_once) {
  const Record theirs = claim_elsewhere();
  auto told = start(command(), work());
  time.run();
  time.time.now += 1s;  // the poll is due
  ASSERT_TRUE(complete_elsewhere(theirs, "theirs"));
  store.wake(scope());
  store.wake(scope());
  time.advance(5s);
  EXPECT_EQ(told->times, 1);
  EXPECT_TRUE(told->as<Replayed>());
}

TEST_F(EngineTest, a_thousand_who_wait_for_another_machine_cost_one_question_per_poll) {
  claim_elsewhere();
  std::vector<std::shared_ptr<Listener>> callers;
  for (int i = 0; i < 1000; ++i) callers.push_back(start(command("body", 4500ms), work()));
  time.advance(4s);
  EXPECT_LE(store.calls("claim"), 1 + 5);
  time.advance(1s);
  for (const auto& caller : callers) EXPECT_TRUE(caller->as<StillRunning>());
}

TEST_F(EngineTest, who_comes_after_the_last_one_left_asks_the_store) {
  const Record theirs = claim_elsewhere();
  auto gone = start(command("body", 300ms), work());
  time.advance(300ms);
  ASSERT_TRUE(gone->as<StillRunning>());
  ASSERT_TRUE(complete_elsewhere(theirs, "theirs"));  // and its wake-up is late
  auto told = start(command("body", 300ms), work());
  time.run();
  EXPECT_TRUE(told->as<Replayed>());
}

TEST_F(EngineTest, who_comes_after_the_last_follower_left_asks_the_store) {
  const Record theirs = claim_elsewhere();
  auto gone = start(command("body", 300ms), work());
  auto gone_later = start(command("body", 400ms), work());
  time.advance(400ms);
  ASSERT_TRUE(gone->as<StillRunning>());
  ASSERT_TRUE(gone_later->as<StillRunning>());
  ASSERT_TRUE(complete_elsewhere(theirs, "theirs"));
  auto told = start(command("body", 300ms), work());
  time.run();
  EXPECT_TRUE(told->as<Replayed>());
}

TEST_F(EngineTest, nobody_is_turned_away_for_what_was_so_before_it_came) {
  const Record theirs = claim_elsewhere();
  auto patient = start(command("body", 5s), work());
  time.advance(100ms);
  ASSERT_TRUE(complete_elsewhere(theirs, "theirs"));
  auto told = start(command("body", 300ms), work());
  time.advance(299ms);
  EXPECT_EQ(told->times, 0) << "the wake-up may come";
  time.advance(1ms);
  EXPECT_TRUE(told->as<Replayed>());
  EXPECT_TRUE(patient->as<Replayed>());
}

TEST_F(EngineTest, nobody_without_time_is_turned_away_for_what_was_so_before_it_came) {
  const Record theirs = claim_elsewhere();
  auto patient = start(command("body", 5s), work());
  time.advance(100ms);
  auto early = start(command("body", 0s), work());
  time.run();
  EXPECT_TRUE(early->as<StillRunning>());
  EXPECT_EQ(patient->times, 0);
  ASSERT_TRUE(complete_elsewhere(theirs, "theirs"));
  auto told = start(command("body", 0s), work());
  time.run();
  EXPECT_TRUE(told->as<Replayed>());
}

TEST_F(EngineTest, those_who_come_one_by_one_cost_a_question_for_as_long_as_they_wait) {
  claim_elsewhere();
  auto patient = start(command("body", 10s), work());
  std::vector<std::shared_ptr<Listener>> callers;
  for (int i = 0; i < 400; ++i) {
    callers.push_back(start(command("body", 500ms), work()));
    time.advance(10ms);
  }
  time.advance(500ms);
  for (const auto& caller : callers) EXPECT_TRUE(caller->as<StillRunning>());
  EXPECT_LE(store.calls("claim"), 2 + 4500 / 500);
}

TEST_F(EngineTest, a_rejected_duplicate_changes_nothing) {  // I7
  const Record theirs = claim_elsewhere("one");
  const Record before = *store.find(scope());
  start(command("one", 0s), work());
  start(command("two", 0s), work());
  time.advance(5s);
  const Record after = *store.find(scope());
  EXPECT_EQ(after.epoch, before.epoch);
  EXPECT_EQ(after.owner, before.owner);
  EXPECT_EQ(after.state, before.state);
  EXPECT_EQ(after.lease_until, before.lease_until);
  EXPECT_EQ(after.updated_at, before.updated_at);
  EXPECT_TRUE(complete_elsewhere(theirs, "theirs"));
}

TEST_F(EngineTest, a_request_that_was_rejected_as_different_never_executes_for_those_who_wait_with_it) {
  const Record theirs = claim_elsewhere("one");
  store.hold_replies_of("claim");
  auto rejected = work();
  auto other = start(command("two"), rejected);  // leads the flight
  auto waiting = work();
  auto same = start(command("one"), waiting);
  store.release_held();
  time.run();
  ASSERT_EQ(other->as<Rejected>()->why, Rejection::mismatch);
  ASSERT_TRUE(release_elsewhere(theirs, true));  // nothing was sent: the key is free for any request
  store.wake(scope());
  time.advance(2s);
  EXPECT_EQ(rejected->executed, 0);
  EXPECT_EQ(waiting->executed, 1);
  EXPECT_TRUE(same->as<Executed>());
}

TEST_F(EngineTest, a_request_that_was_told_to_come_back_never_executes_for_those_who_wait_with_it) {
  const Record theirs = claim_elsewhere();
  store.hold_replies_of("claim");
  auto impatient = work();
  auto gone = start(command("body", 0s), impatient);  // leads the flight
  auto patient = work();
  auto stays = start(command("body", 5s), patient);
  store.release_held();
  time.run();
  ASSERT_TRUE(gone->as<StillRunning>());
  ASSERT_TRUE(release_elsewhere(theirs, false));
  store.wake(scope());
  time.advance(3s);
  EXPECT_EQ(impatient->executed, 0);
  EXPECT_EQ(patient->executed, 1);
}

TEST_F(EngineTest, a_caller_whose_time_is_up_while_it_asks_for_the_key_is_told_what_came_of_it) {
  const Record theirs = claim_elsewhere();
  auto w = work();
  auto told = start(command("body", 1500ms), w);
  time.run();
  w->is_ready = false;
  w->prepare_takes = 1s;  // from the poll at 1 s until after its time is up
  ASSERT_TRUE(release_elsewhere(theirs, false));
  time.advance(1600ms);
  EXPECT_EQ(told->times, 0);
  time.advance(1s);
  EXPECT_EQ(w->executed, 1);
  EXPECT_TRUE(told->as<Executed>());
}

TEST_F(EngineTest, a_leader_that_polls_waits_no_longer_than_it_has_time) {
  claim_elsewhere();
  auto told = start(command("body", 3500ms), work());
  time.advance(3499ms);
  EXPECT_EQ(told->times, 0);
  time.advance(1ms);
  EXPECT_TRUE(told->as<StillRunning>());
}

TEST_F(EngineTest, a_caller_that_got_the_key_after_waiting_is_told_the_answer_and_not_that_time_is_up) {
  const Record theirs = claim_elsewhere();
  auto told = start(command("body", 3s), work(answer_of(201, "mine"), 10s));
  time.advance(1s);
  ASSERT_TRUE(release_elsewhere(theirs, false));
  store.wake(scope());
  time.advance(20s);
  ASSERT_TRUE(told->as<Executed>());
  EXPECT_EQ(std::get<Answer>(told->as<Executed>()->effect).response->body, "mine");
}

TEST_F(EngineTest, a_lease_that_ends_elsewhere_is_learned_as_unknown) {  // I4
  claim_elsewhere();
  auto w = work();
  auto told = start(command("body", 60s), w);
  time.advance(32s);
  ASSERT_TRUE(told->as<Rejected>());
  EXPECT_EQ(told->as<Rejected>()->why, Rejection::unknown);
  EXPECT_EQ(w->executed, 0);
}

TEST_F(EngineTest, everybody_who_waited_learns_that_the_store_failed) {
  store.hold_replies_of("claim");
  store.fail_next("claim", {Errc::refused, false});
  auto first = start(command(), work());
  auto second = start(command(), work());
  store.release_held();
  time.run();
  EXPECT_TRUE(first->as<StoreFailed>());
  EXPECT_TRUE(second->as<StoreFailed>());
}

}  // namespace
}  // namespace onceward::testing
