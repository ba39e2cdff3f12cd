// on_unknown: probe. The upstream is asked what happened, and the record follows its answer.
#include "engine/reconciler.hpp"

#include <algorithm>

#include "engine/probe_sweep.hpp"
#include "support/engine_fixture.hpp"

namespace onceward::testing {
namespace {

using namespace std::chrono_literals;

class ScriptedProber final : public Prober {
 public:
  ScriptedProber(Executor& executor, const Clock& clock) : executor_(executor), clock_(clock) {}

  std::shared_ptr<const Policy> policy_of(std::string_view operation) const override {
    return operation == "op" ? policy : nullptr;
  }
  bool probes_anything() const override { return policy != nullptr; }
  Duration time_limit() const override { return 10s; }
  Task<ProbeAnswer> ask(const Record& record, const Policy&) override {
    ++asked;
    last = record;
    co_await SleepUntil(executor_, clock_.mono() + takes);
    co_return answer;
  }

  std::shared_ptr<const Policy> policy;
  ProbeAnswer answer = CannotTell{"busy"};
  Duration takes{0};
  int asked = 0;
  Record last;

 private:
  Executor& executor_;
  const Clock& clock_;
};

class Notes final : public EngineObserver {
 public:
  void probed(const Record&, ProbeOutcome outcome) override { outcomes.emplace_back(to_string(outcome)); }
  void became_unknown(const Record&, UnknownCause cause) override { causes.push_back(cause); }
  std::vector<std::string> outcomes;
  std::vector<UnknownCause> causes;
};

class ReconcilerTest : public EngineTest {
 protected:
  ReconcilerTest() {
    policy.on_unknown = OnUnknown::probe;
    policy.probe = ProbePolicy{};
    policy.probe->every = 5s;
    policy.probe->give_up = 1h;
    prober.policy = std::make_shared<const Policy>(policy);
  }
  ~ReconcilerTest() override {
    sweep.stop();
    time.advance(100h);  // what is still asking must end before the prober goes
  }

  Command probing(const std::string& body = "body", Duration wait = 3s) {
    Command made = command(body, wait);
    made.prober = &prober;
    made.observer = &notes;
    return made;
  }
  // The first request, whose answer never came.
  void lose_the_answer(UnknownCause cause = UnknownCause::reset) {
    start(probing(), work(NoAnswer{{cause, 0, 0}}));
    time.run();
    ASSERT_EQ(state(), State::unknown);
  }
  std::size_t rights_held() {
    const ListRequest rights{.operation = std::string(probe_operation)};
    const auto listed = call<ListReply>([&](auto& reply) { return store.list(rights, reply); });
    return static_cast<std::size_t>(std::ranges::count(listed->records, State::claimed, &Record::state));
  }

  ScriptedProber prober{time.executor, time.clock};
  Notes notes;
  ProbeSweep sweep{engine, store, time.executor, time.clock, prober, &notes};
};

TEST_F(ReconcilerTest, what_happened_is_stored_and_replayed) {
  lose_the_answer();
  prober.answer = Applied{response_of(200, "it happened")};
  sweep.start();
  time.advance(6s);
  EXPECT_EQ(state(), State::succeeded);
  EXPECT_EQ(prober.last.operation_id, record()->operation_id);
  auto retried = work();
  auto retry = start(probing(), retried);
  time.run();
  ASSERT_TRUE(retry->as<Replayed>());
  EXPECT_EQ(retry->as<Replayed>()->record.response->body, "it happened");
  EXPECT_EQ(retried->executed, 0);
  EXPECT_EQ(rights_held(), 0u);
  EXPECT_EQ(notes.outcomes, std::vector<std::string>{"applied"});
}

TEST_F(ReconcilerTest, what_did_not_happen_may_run_again_under_the_next_epoch) {
  lose_the_answer();
  const OperationId first = record()->operation_id;
  prober.answer = NotApplied{};
  sweep.start();
  time.advance(6s);
  EXPECT_EQ(state(), State::released);
  auto again = work();
  auto retry = start(probing(), again);
  time.run();
  EXPECT_TRUE(retry->as<Executed>());
  EXPECT_EQ(again->last_grant.epoch, 2u);
  EXPECT_EQ(again->last_grant.operation_id, first);
}

TEST_F(ReconcilerTest, a_released_key_stays_with_its_request) {
  lose_the_answer();
  prober.answer = NotApplied{};
  sweep.start();
  time.advance(6s);
  auto other = start(probing("another body"), work());
  time.run();
  ASSERT_TRUE(other->as<Rejected>());
  EXPECT_EQ(other->as<Rejected>()->why, Rejection::mismatch);
}

TEST_F(ReconcilerTest, an_answer_that_cannot_tell_leaves_the_key_held_and_is_asked_for_again) {
  lose_the_answer();
  sweep.start();
  time.advance(6s);
  EXPECT_EQ(prober.asked, 1);
  EXPECT_EQ(state(), State::unknown);
  auto retried = work();
  auto retry = start(probing(), retried);
  time.run();
  ASSERT_TRUE(retry->as<Rejected>());
  EXPECT_EQ(retry->as<Rejected>()->why, Rejection::unknown);
  EXPECT_EQ(retried->executed, 0);
  time.advance(10min);
  EXPECT_GT(prober.asked, 3);
  EXPECT_LT(prober.asked, 12) << "without back-off it would be 120";
  prober.answer = Applied{response_of(200, "at last")};
  time.advance(10min);
  EXPECT_EQ(state(), State::succeeded);
}

TEST_F(ReconcilerTest, gives_up_and_says_so_once) {
  policy.probe->give_up = 2min;
  prober.policy = std::make_shared<const Policy>(policy);
  lose_the_answer();
  sweep.start();
  time.advance(10min);
  const int asked = prober.asked;
  EXPECT_EQ(std::ranges::count(notes.outcomes, "gave_up"), 1);
  prober.answer = Applied{response_of(200, "too late")};
  time.advance(10min);
  auto retry = start(probing(), work());
  time.run();
  ASSERT_TRUE(retry->as<Rejected>());
  EXPECT_EQ(retry->as<Rejected>()->why, Rejection::unknown);
  EXPECT_EQ(prober.asked, asked);
  EXPECT_EQ(state(), State::unknown);
}

TEST_F(ReconcilerTest, a_retry_makes_a_due_probe_happen_and_waits_for_it) {
  lose_the_answer();
  time.advance(6s);
  prober.answer = Applied{response_of(200, "asked for you")};
  prober.takes = 2s;
  auto retry = start(probing("body", 3s), work());
  auto second = start(probing("body", 3s), work());
  auto other = start(probing("another"), work());
  time.advance(1s);
  EXPECT_FALSE(retry->what);
  ASSERT_TRUE(other->as<Rejected>()) << "a different request is told at once";
  EXPECT_EQ(other->as<Rejected>()->why, Rejection::mismatch);
  time.advance(2s);
  ASSERT_TRUE(retry->as<Replayed>());
  ASSERT_TRUE(second->as<Replayed>());
  EXPECT_EQ(prober.asked, 1);
}

TEST_F(ReconcilerTest, a_retry_with_less_time_than_the_probe_is_told_unknown_and_the_next_one_replays) {
  lose_the_answer();
  time.advance(6s);
  prober.answer = Applied{response_of(200, "asked for you")};
  prober.takes = 5s;
  auto hurried = start(probing("body", 1s), work());
  auto at_once = start(probing("body", 0s), work());
  time.advance(1500ms);
  for (const auto& caller : {hurried, at_once}) {
    ASSERT_TRUE(caller->as<Rejected>());
    EXPECT_EQ(caller->as<Rejected>()->why, Rejection::unknown);
  }
  time.advance(5s);
  auto patient = start(probing(), work());
  time.run();
  EXPECT_TRUE(patient->as<Replayed>());
  EXPECT_EQ(prober.asked, 1);
}

TEST_F(ReconcilerTest, a_retry_executes_when_its_probe_says_that_nothing_happened) {
  lose_the_answer();
  time.advance(6s);
  prober.answer = NotApplied{};
  auto again = work();
  auto retry = start(probing(), again);
  time.run();
  EXPECT_TRUE(retry->as<Executed>());
  EXPECT_EQ(again->last_grant.epoch, 2u);
}

TEST_F(ReconcilerTest, a_retry_that_meets_the_sweeps_probe_waits_for_it) {
  lose_the_answer();
  prober.answer = Applied{response_of(200, "found by the sweep")};
  prober.takes = 2s;
  sweep.start();
  time.advance(5500ms);
  ASSERT_EQ(prober.asked, 1);
  auto retry = start(probing(), work());
  time.advance(1ms);
  EXPECT_FALSE(retry->what);
  time.advance(3s);
  EXPECT_TRUE(retry->as<Replayed>());
  EXPECT_EQ(prober.asked, 1);
}

TEST_F(ReconcilerTest, a_late_answer_wins_over_a_probe_that_is_still_asking) {
  auto first = work(NoAnswer{{UnknownCause::timeout, 0, 0}});
  first->late_answer = answer_of(201, "late but true");
  first->late_after = 7s;
  start(probing(), first);
  prober.answer = NotApplied{};
  prober.takes = 4s;  // asked at 5 s, answered at 9 s
  sweep.start();
  time.advance(20s);
  EXPECT_EQ(prober.asked, 1);
  EXPECT_EQ(state(), State::succeeded);
  EXPECT_EQ(record()->response->body, "late but true");
  EXPECT_EQ(notes.outcomes, std::vector<std::string>{"elsewhere"});
}

TEST_F(ReconcilerTest, a_late_answer_after_the_probe_changes_nothing) {  // I3
  auto first = work(NoAnswer{{UnknownCause::timeout, 0, 0}});
  first->late_answer = answer_of(201, "late");
  first->late_after = 30s;
  start(probing(), first);
  prober.answer = Applied{response_of(200, "the probe's")};
  sweep.start();
  time.advance(40s);
  EXPECT_EQ(record()->response->body, "the probe's");
}

TEST_F(ReconcilerTest, a_lost_reply_of_the_store_is_asked_again) {  // I10
  for (bool applied : {false, true}) {
    lose_the_answer();
    store.fail_next("resolve", {Errc::unavailable, applied});
    prober.answer = NotApplied{};
    time.advance(6s);
    auto retry = start(probing(), work(NoAnswer{{UnknownCause::reset, 0, 0}}));
    time.run();
    ASSERT_TRUE(retry->as<Executed>()) << applied;
  }
}

TEST_F(ReconcilerTest, a_record_of_another_operation_is_left_alone) {
  lose_the_answer();
  policy.on_unknown = OnUnknown::hold;
  prober.policy = std::make_shared<const Policy>(policy);
  sweep.start();
  time.advance(1h);
  EXPECT_EQ(prober.asked, 0);
}

TEST_F(ReconcilerTest, nobody_waits_for_the_right_to_ask_to_be_given_up) {
  lose_the_answer();
  prober.answer = Applied{response_of(200, "known")};
  store.hold_replies_of("release");
  time.advance(6s);
  start(probing("body", 0s), work());
  time.run();
  EXPECT_EQ(engine.executions(), 1u) << "whoever shuts down must know that a write is on its way";
  auto next = start(probing("body", 0s), work());
  time.run();
  EXPECT_TRUE(next->as<Replayed>());
  store.release_held();
  time.run();
  EXPECT_EQ(engine.executions(), 0u);
}

TEST_F(ReconcilerTest, two_machines_never_ask_about_one_record_at_once) {
  Engine other{store, time.clock, random};
  ScriptedProber theirs{time.executor, time.clock};
  theirs.policy = prober.policy;
  ProbeSweep their_sweep{other, store, time.executor, time.clock, theirs, nullptr};
  lose_the_answer();
  prober.takes = theirs.takes = 9s;
  prober.answer = theirs.answer = CannotTell{"busy"};
  sweep.start();
  their_sweep.start();
  time.advance(6s);
  EXPECT_EQ(prober.asked + theirs.asked, 1);
  EXPECT_EQ(rights_held(), 1u);
  time.advance(10min);
  EXPECT_GT(prober.asked + theirs.asked, 3);
  their_sweep.stop();
  time.advance(1min);
  EXPECT_TRUE(their_sweep.is_idle());
}

TEST_F(ReconcilerTest, rights_that_nobody_needs_any_more_are_freed) {
  lose_the_answer();
  const Record lost = *record();
  prober.takes = 90h;  // it asks, and is never heard of again
  time.advance(6s);
  start(probing("body", 0s), work());
  time.run();
  ASSERT_EQ(rights_held(), 1u);
  ASSERT_TRUE(resolve(lost, State::succeeded, "by an operator"));
  sweep.start();
  time.advance(5s);
  EXPECT_EQ(rights_held(), 1u) << "its lease still runs";
  time.advance(11min);
  EXPECT_EQ(rights_held(), 0u);
}

TEST_F(ReconcilerTest, the_right_to_ask_of_a_machine_that_died_ends_with_its_lease) {
  lose_the_answer();
  prober.takes = 48h;  // it asks, and is never heard of again
  time.advance(6s);
  start(probing("body", 0s), work());
  time.run();
  ASSERT_EQ(rights_held(), 1u);

  Engine other{store, time.clock, random};
  ScriptedProber theirs{time.executor, time.clock};
  theirs.policy = prober.policy;
  theirs.answer = Applied{response_of(200, "by the one that lives")};
  ProbeSweep their_sweep{other, store, time.executor, time.clock, theirs, nullptr};
  their_sweep.start();
  time.advance(5s);
  EXPECT_EQ(theirs.asked, 0);
  time.advance(1min);
  EXPECT_EQ(theirs.asked, 1);
  EXPECT_EQ(state(), State::succeeded);
  their_sweep.stop();
}

}  // namespace
}  // namespace onceward::testing
