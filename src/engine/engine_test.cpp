// One caller at a time: what it is told, what the record becomes, and what the work may do (I1, I2, I11).
#include "engine/engine.hpp"

#include "support/engine_fixture.hpp"

namespace onceward::testing {
namespace {

using namespace std::chrono_literals;

TEST_F(EngineTest, a_first_request_executes_once_under_its_claim_and_is_stored) {
  auto w = work(answer_of(201, "made"));
  auto told = start(command(), w);
  time.run();
  const auto* executed = told->as<Executed>();
  ASSERT_TRUE(executed);
  EXPECT_TRUE(executed->stored);
  EXPECT_EQ(std::get<Answer>(executed->effect).response->body, "made");
  EXPECT_EQ(w->executed, 1);
  EXPECT_EQ(w->last_grant.epoch, 1u);
  EXPECT_EQ(w->last_grant.operation_id, record()->operation_id);
  EXPECT_EQ(state(), State::succeeded);
  EXPECT_EQ(store.calls("claim"), 1);
  EXPECT_EQ(store.calls("complete"), 1);
  EXPECT_EQ(store.calls("lookup"), 0);
}

TEST_F(EngineTest, the_work_does_not_start_before_the_claim_is_answered) {  // I1
  store.hold_replies_of("claim");
  auto w = work();
  auto told = start(command(), w);
  time.advance(10ms);
  EXPECT_EQ(w->executed, 0);
  store.release_held();
  time.run();
  EXPECT_EQ(w->executed, 1);
  EXPECT_TRUE(told->as<Executed>());
}

TEST_F(EngineTest, the_caller_is_not_told_before_the_outcome_is_stored) {  // I2
  store.hold_replies_of("complete");
  auto told = start(command(), work());
  time.advance(10ms);
  EXPECT_EQ(told->times, 0);
  store.release_held();
  time.run();
  EXPECT_EQ(told->times, 1);
}

TEST_F(EngineTest, a_caller_that_leaves_changes_nothing) {  // I11
  auto w = work(answer_of(201), 2s);
  auto told = start(command(), w);
  time.advance(1s);
  std::weak_ptr<Listener> gone = told;
  told.reset();
  EXPECT_TRUE(gone.expired());
  time.advance(2s);
  EXPECT_EQ(state(), State::succeeded);
  EXPECT_TRUE(start(command(), work())->as<Replayed>());
}

TEST_F(EngineTest, the_upstream_status_decides_what_the_record_becomes) {
  struct Case {
    int status;
    State becomes;
  };
  for (const Case& c : {Case{200, State::succeeded}, Case{302, State::succeeded}, Case{404, State::failed},
                        Case{500, State::failed}, Case{503, State::released}, Case{429, State::released},
                        Case{502, State::unknown}, Case{504, State::unknown}}) {
    SCOPED_TRACE(c.status);
    Command wanted = command();
    wanted.scope = scope("status" + std::to_string(c.status));
    auto told = start(wanted, work(answer_of(c.status)));
    time.run();
    ASSERT_TRUE(told->as<Executed>());
    EXPECT_TRUE(told->as<Executed>()->stored);
    EXPECT_EQ(store.find(wanted.scope)->state, c.becomes);
  }
}

TEST_F(EngineTest, an_answers_own_ttl_overrules_the_policy) {
  Answer answer = answer_of(200);
  answer.ttl = 5s;
  start(command(), work(answer));
  time.run();
  EXPECT_EQ(record()->expires_at, time.clock.now() + 5s);
}

TEST_F(EngineTest, a_released_key_executes_again_at_the_next_epoch_under_the_same_operation) {
  start(command(), work(answer_of(503)));
  time.run();
  const OperationId first = record()->operation_id;
  auto second = work();
  start(command(), second);
  time.run();
  EXPECT_EQ(second->last_grant.epoch, 2u);
  EXPECT_EQ(second->last_grant.operation_id, first);
  EXPECT_EQ(state(), State::succeeded);
}

TEST_F(EngineTest, a_refused_connection_leaves_no_record) {
  auto w = work();
  w->is_ready = false;
  w->prepare_error = Error{Errc::unavailable, "connection refused"};
  auto told = start(command(), w);
  time.run();
  EXPECT_TRUE(told->as<Unreachable>());
  EXPECT_EQ(w->executed, 0);
  EXPECT_FALSE(record());
  EXPECT_EQ(store.calls("claim"), 0);
}

TEST_F(EngineTest, work_that_sent_nothing_frees_the_key_for_any_request) {
  auto told = start(command("one"), work(NotSent{"the idle connection was closed"}));
  time.run();
  EXPECT_TRUE(told->as<Unreachable>());
  EXPECT_EQ(state(), State::released);
  auto other = start(command("another"), work());
  time.run();
  EXPECT_TRUE(other->as<Executed>());
}

TEST_F(EngineTest, a_replay_needs_no_upstream) {
  start(command(), work(answer_of(201, "made")));
  time.run();
  auto unreachable = work();
  unreachable->is_ready = false;
  unreachable->prepare_error = Error{Errc::unavailable, "down"};
  auto told = start(command(), unreachable);
  time.run();
  ASSERT_TRUE(told->as<Replayed>());
  EXPECT_EQ(told->as<Replayed>()->record.response->body, "made");
  EXPECT_EQ(unreachable->prepared, 0);
}

TEST_F(EngineTest, no_answer_makes_the_key_unknown_and_a_retry_is_not_executed) {  // I4
  auto told = start(command(), work(NoAnswer{{UnknownCause::timeout, 0, 0}}));
  time.run();
  ASSERT_TRUE(told->as<Executed>());
  EXPECT_EQ(state(), State::unknown);
  EXPECT_EQ(record()->evidence.cause, UnknownCause::timeout);
  auto retry = work();
  auto again = start(command(), retry);
  time.run();
  ASSERT_TRUE(again->as<Rejected>());
  EXPECT_EQ(again->as<Rejected>()->why, Rejection::unknown);
  EXPECT_EQ(retry->executed, 0);
}

TEST_F(EngineTest, a_late_whole_answer_settles_an_unknown_key) {
  auto w = work(NoAnswer{{UnknownCause::timeout, 0, 0}});
  w->late_after = 40s;  // longer than the lease: the key is held as unknown all the while
  w->late_answer = answer_of(201, "late");
  start(command(), w);
  time.advance(39s);
  EXPECT_EQ(state(), State::unknown);
  EXPECT_EQ(engine.executions(), 1u);
  time.advance(2s);
  EXPECT_EQ(state(), State::succeeded);
  EXPECT_EQ(record()->response->body, "late");
  EXPECT_EQ(engine.executions(), 0u);
}

TEST_F(EngineTest, a_late_answer_that_says_retry_frees_the_key) {
  auto w = work(NoAnswer{{UnknownCause::timeout, 0, 0}});
  w->late_after = 1s;
  w->late_answer = answer_of(503);
  start(command(), w);
  time.advance(2s);
  EXPECT_EQ(state(), State::released);
}

TEST_F(EngineTest, a_late_answer_cannot_overrule_an_operator) {  // I3
  auto w = work(NoAnswer{{UnknownCause::timeout, 0, 0}});
  w->late_after = 5s;
  w->late_answer = answer_of(201, "late");
  start(command(), w);
  time.advance(1s);
  ASSERT_TRUE(resolve(*record(), State::succeeded, "the operator's"));
  time.advance(10s);
  EXPECT_EQ(record()->response->body, "the operator's");
}

TEST_F(EngineTest, forward_executes_an_unknown_key_again_at_a_higher_epoch) {
  policy.on_unknown = OnUnknown::forward;
  start(command(), work(NoAnswer{{UnknownCause::timeout, 0, 0}}));
  time.run();
  auto second = work();
  auto told = start(command(), second);
  time.run();
  EXPECT_TRUE(told->as<Executed>());
  EXPECT_EQ(second->last_grant.epoch, 2u);
}

TEST_F(EngineTest, a_forwarded_key_stays_bound_to_its_request_when_a_later_attempt_was_not_sent) {
  policy.on_unknown = OnUnknown::forward;
  start(command("one"), work(NoAnswer{{UnknownCause::timeout, 0, 0}}));  // may have executed
  time.run();
  start(command("one"), work(NotSent{"closed"}));
  time.run();
  auto other = work();
  auto told = start(command("two"), other);
  time.run();
  EXPECT_EQ(other->executed, 0);
  ASSERT_TRUE(told->as<Rejected>());
  EXPECT_EQ(told->as<Rejected>()->why, Rejection::mismatch);
}

TEST_F(EngineTest, a_record_of_an_older_fingerprint_version_is_compared_under_it) {
  start(command("body"), work(answer_of(201, "made")));
  time.run();
  const auto asked_under_version_2 = [&](const std::string& body) {
    Command newer = command(body);
    newer.fingerprint = {2, Digest{sha256("v2" + body)}};
    newer.fingerprint_as = [this, body](std::uint16_t version) -> Result<Fingerprint> {
      if (version != 1) return Error{Errc::unreadable, "a version from the future"};
      return fingerprint(body);
    };
    auto told = start(newer, work());
    time.run();
    return told;
  };
  EXPECT_TRUE(asked_under_version_2("body")->as<Replayed>());
  EXPECT_EQ(asked_under_version_2("other")->as<Rejected>()->why, Rejection::mismatch);
}

TEST_F(EngineTest, observe_never_blocks_or_replays_and_says_what_enforce_would_have_done) {
  policy.mode = Mode::observe;
  auto first = start(command(), work());
  time.run();
  EXPECT_TRUE(first->as<Executed>());
  const auto would_have = [&](const std::string& body) {
    auto w = work();
    auto told = start(command(body), w);
    time.run();
    EXPECT_EQ(w->executed, 1);
    EXPECT_EQ(w->last_grant.epoch, 0u);
    const auto* unguarded = told->as<Unguarded>();
    return unguarded ? std::string(unguarded->would_have) : "not unguarded";
  };
  EXPECT_EQ(would_have("body"), "replay");
  EXPECT_EQ(would_have("other"), "mismatch");
}

TEST_F(EngineTest, observe_does_not_wait_for_one_in_progress) {
  policy.mode = Mode::observe;
  claim_elsewhere();
  auto told = start(command("body", 20s), work());
  time.run();
  ASSERT_TRUE(told->as<Unguarded>());
  EXPECT_EQ(told->as<Unguarded>()->would_have, "in_progress");
}

TEST_F(EngineTest, open_executes_without_protection_only_when_the_store_cannot_answer) {
  policy.on_store_failure = OnStoreFailure::open;
  for (int i = 0; i < 2; ++i) store.fail_next("claim", {Errc::unavailable, false});
  auto w = work();
  auto told = start(command(), w);
  time.run();
  EXPECT_TRUE(told->as<Unguarded>());
  EXPECT_EQ(w->executed, 1);

  store.fail_next("claim", {Errc::unreadable, false});  // I5 holds under open too
  auto unreadable = start(command(), work());
  time.run();
  EXPECT_TRUE(unreadable->as<StoreFailed>());
}

TEST_F(EngineTest, open_does_not_free_a_claim_that_may_stand_for_what_it_sends) {
  policy.on_store_failure = OnStoreFailure::open;
  for (int i = 0; i < 2; ++i) store.fail_next("claim", {Errc::unavailable, true});
  start(command(), work());
  time.advance(10s);
  EXPECT_EQ(store.calls("release"), 0);
  time.advance(30s);
  EXPECT_EQ(state(), State::unknown);
}

}  // namespace
}  // namespace onceward::testing
