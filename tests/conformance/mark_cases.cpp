// Marks: taken with the claim, held while there may be an effect, kept after success, freed without one.
// Stores that cannot change a record and its marks in one step skip these.
#include <thread>

#include "base/sha256.hpp"
#include "conformance/store_conformance.hpp"

namespace onceward::testing {
using namespace std::chrono_literals;

void MarkConformance::SetUp() {
  StoreConformance::SetUp();
  if (!store().keeps_marks()) GTEST_SKIP() << "this store keeps no marks";
}

Mark MarkConformance::unique(const std::string& fact, Duration keep) {
  return {MarkKind::unique, Scope{sha256("unique " + fact)}, keep, true};
}

Mark MarkConformance::suspect(const std::string& likeness, bool refuses) {
  return {MarkKind::suspect, Scope{sha256("suspect " + likeness)}, 30s, refuses};
}

ClaimRequest MarkConformance::marked(const std::string& key, std::vector<Mark> marks,
                                     const std::string& owner) {
  ClaimRequest wanted = request(key, "body", owner);
  RequestInfo info = *wanted.request;
  info.marks = std::move(marks);
  wanted.request = std::make_shared<const RequestInfo>(std::move(info));
  return wanted;
}

void MarkConformance::expect_refused(const ClaimRequest& wanted, const Record& holder) {
  const Result<ClaimReply> reply = claim(wanted);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_FALSE(reply->granted);
  EXPECT_EQ(reply->record.epoch, 0u);
  ASSERT_TRUE(reply->standing);
  EXPECT_EQ(reply->standing->scope, holder.scope);
  EXPECT_EQ(reply->standing->operation_id, holder.operation_id);
  EXPECT_EQ(lookup(wanted.scope).error().code, Errc::not_found);
}

namespace {

TEST_P(MarkConformance, a_record_keeps_the_marks_it_was_claimed_with) {
  const ClaimRequest wanted = marked("a", {unique("order 1"), suspect("x", false)});
  const Record mine = must_claim(wanted);
  EXPECT_EQ(mine.request->marks, wanted.request->marks);
  EXPECT_EQ(lookup(mine.scope)->request->marks, wanted.request->marks);
}

TEST_P(MarkConformance, a_second_key_for_the_same_fact_is_refused_while_the_first_runs) {
  const Record first = must_claim(marked("a", {unique("order 1")}));
  expect_refused(marked("b", {unique("order 1")}), first);
  EXPECT_EQ(claim(marked("b", {unique("order 1")}))->standing->kind, MarkKind::unique);
  must_claim(marked("b", {unique("order 2")}));
  must_claim(request("c"));
}

TEST_P(MarkConformance, two_keys_that_race_for_one_fact_get_one_grant) {
  for (int round = 0; round < 30; ++round) {
    const std::string fact = "order " + std::to_string(round);
    std::vector<std::jthread> contenders;
    std::atomic<int> granted{0};
    std::atomic<int> refused{0};
    for (int i = 0; i < 8; ++i) {
      contenders.emplace_back([&, i] {
        BlockingExecutor executor;
        const ClaimRequest wanted = marked(fact + " key " + std::to_string(i), {unique(fact)});
        const auto reply = executor.call<ClaimReply>([&](auto& r) { return store().claim(wanted, r); });
        if (reply && reply->granted) ++granted;
        if (reply && !reply->granted && reply->standing) ++refused;
      });
    }
    contenders.clear();
    ASSERT_EQ(granted, 1) << "round " << round;
    ASSERT_EQ(refused, 7) << "round " << round;
  }
}

TEST_P(MarkConformance, a_release_and_a_failure_free_the_fact_for_another_key) {
  ASSERT_TRUE(release(must_claim(marked("a", {unique("order 1")}))));
  ASSERT_TRUE(complete(must_claim(marked("b", {unique("order 1")})), "no", State::failed));
  const Record third = must_claim(marked("c", {unique("order 1")}));
  expect_refused(marked("d", {unique("order 1")}), third);
  ASSERT_TRUE(unknown(third));
  ASSERT_TRUE(resolve(third, State::released, third.epoch));
  const Record fourth = must_claim(marked("d", {unique("order 1")}));
  ASSERT_TRUE(resolve(fourth, State::failed, fourth.epoch));
  must_claim(marked("e", {unique("order 1")}));
}

TEST_P(MarkConformance, a_claim_that_lapsed_before_dispatch_frees_the_fact) {
  ClaimRequest wanted = marked("a", {unique("order 1")});
  wanted.start = State::claimed;
  const Record first = must_claim(wanted);
  advance(30s - 1ms);
  expect_refused(marked("b", {unique("order 1")}), first);
  advance(1ms);
  const Record second = must_claim(marked("b", {unique("order 1")}));
  const Result<ClaimReply> back = claim(marked("a", {unique("order 1")}, "again"));
  ASSERT_TRUE(back);
  EXPECT_FALSE(back->granted) << "the fact is another's now";
  ASSERT_TRUE(back->standing);
  EXPECT_EQ(back->standing->operation_id, second.operation_id);
  EXPECT_EQ(lookup(first.scope)->epoch, 1u) << "nothing is written on a refusal";
}

TEST_P(MarkConformance, the_fact_is_held_while_the_outcome_is_unknown) {
  const Record said = must_claim(marked("a", {unique("order 1")}));
  ASSERT_TRUE(unknown(said));
  const Record lost = must_claim(marked("b", {unique("order 2")}));
  advance(24h * 3650);
  purge_all();
  expect_refused(marked("c", {unique("order 1")}), said);
  expect_refused(marked("c", {unique("order 2")}), lost);  // its lease ended: it may have happened (I4)
}

TEST_P(MarkConformance, the_fact_is_kept_after_success_beyond_the_ttl_of_its_record) {
  const Record first = must_claim(marked("a", {unique("order 1", 24h * 365)}));
  advance(10s);
  ASSERT_TRUE(complete(first));
  expect_refused(marked("b", {unique("order 1")}), first);
  advance(24h);
  EXPECT_FALSE(lookup(first.scope));
  purge_all();
  PurgeRequest everything;
  everything.final_too = true;
  purge_all(everything);
  expect_refused(marked("b", {unique("order 1")}), first);
  expect_refused(marked("a", {unique("order 1")}, "again"), first);  // also under its own key
  advance(24h * 364 - 1ms);
  expect_refused(marked("b", {unique("order 1")}), first);
  advance(1ms);
  must_claim(marked("b", {unique("order 1")}));
}

TEST_P(MarkConformance, a_resolved_success_keeps_the_fact_too) {
  const Record first = must_claim(marked("a", {unique("order 1", 48h)}));
  ASSERT_TRUE(unknown(first));
  ASSERT_TRUE(resolve(first, State::succeeded, first.epoch, "it happened"));
  advance(48h - 1ms);
  expect_refused(marked("b", {unique("order 1")}), first);
  advance(1ms);
  must_claim(marked("b", {unique("order 1")}));
}

TEST_P(MarkConformance, a_completion_that_changes_nothing_does_not_keep_the_fact_longer) {
  const Record first = must_claim(marked("a", {unique("order 1", 10min)}));
  ASSERT_TRUE(complete(first));
  advance(5min);
  ASSERT_TRUE(complete(first));
  advance(5min);
  must_claim(marked("b", {unique("order 1")}));
}

TEST_P(MarkConformance, a_fact_kept_for_less_than_the_ttl_is_free_while_its_record_replays) {
  const Record first = must_claim(marked("a", {unique("order 1", 1min)}));
  ASSERT_TRUE(complete(first));
  advance(1min);
  must_claim(marked("b", {unique("order 1")}));
  EXPECT_EQ(claim(marked("a", {unique("order 1")}, "again"))->record.state, State::succeeded);
}

TEST_P(MarkConformance, a_claim_asked_again_by_its_owner_meets_no_mark) {
  const ClaimRequest wanted = marked("a", {unique("order 1"), suspect("x")});
  const Record mine = must_claim(wanted);
  const Result<ClaimReply> again = claim(wanted);  // I10
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->granted);
  EXPECT_FALSE(again->standing);
  EXPECT_EQ(again->record.epoch, mine.epoch);
}

TEST_P(MarkConformance, a_duplicate_of_the_same_key_is_answered_from_its_record_not_from_its_mark) {
  const Record mine = must_claim(marked("a", {unique("order 1")}));
  const Result<ClaimReply> running = claim(marked("a", {unique("order 1")}, "other"));
  EXPECT_FALSE(running->standing);
  EXPECT_EQ(running->record.operation_id, mine.operation_id);
  ASSERT_TRUE(complete(mine));
  const Result<ClaimReply> replay = claim(marked("a", {unique("order 1")}, "other"));
  EXPECT_FALSE(replay->standing);
  EXPECT_EQ(replay->record.response->body, "answer");
}

TEST_P(MarkConformance, a_released_key_that_runs_again_takes_its_marks_again) {
  ASSERT_TRUE(release(must_claim(marked("a", {unique("order 1")}))));
  const Record again = must_claim(marked("a", {unique("order 1")}, "again"));
  EXPECT_EQ(again.epoch, 2u);
  expect_refused(marked("b", {unique("order 1")}), again);
}

TEST_P(MarkConformance, an_unknown_outcome_sent_again_meets_only_its_own_mark) {
  const Record first = must_claim(marked("a", {unique("order 1")}));
  ASSERT_TRUE(unknown(first));
  ClaimRequest forward = marked("a", {unique("order 1")}, "again");
  forward.take_unknown = true;
  const Record second = must_claim(forward);
  EXPECT_EQ(second.epoch, 2u);
  ASSERT_TRUE(release(second));
  EXPECT_EQ(lookup(second.scope)->state, State::unknown) << "the first epoch may have happened";
  expect_refused(marked("b", {unique("order 1")}), first);
}

TEST_P(MarkConformance, a_released_key_taken_by_another_request_leaves_the_first_fact_free) {
  ASSERT_TRUE(release(must_claim(marked("a", {unique("order 1")})), true));
  ClaimRequest other = marked("a", {unique("order 2")}, "again");
  other.fingerprint.digest.data[0] ^= 1;
  must_claim(other);
  must_claim(marked("b", {unique("order 1")}));
}

TEST_P(MarkConformance, a_likeness_stands_for_its_time_from_the_claim_on) {
  const Record first = must_claim(marked("a", {suspect("x")}));
  advance(10s);
  ASSERT_TRUE(complete(first));
  advance(20s - 1ms);
  expect_refused(marked("b", {suspect("x")}), first);
  EXPECT_EQ(claim(marked("b", {suspect("x")}))->standing->kind, MarkKind::suspect);
  must_claim(marked("c", {suspect("y")}));
  advance(1ms);
  must_claim(marked("b", {suspect("x")}));
}

TEST_P(MarkConformance, a_likeness_is_free_after_a_release_a_failure_or_a_lapsed_claim) {
  ASSERT_TRUE(release(must_claim(marked("a", {suspect("x")}))));
  ASSERT_TRUE(complete(must_claim(marked("b", {suspect("x")})), "no", State::failed));
  ClaimRequest wanted = marked("c", {suspect("x")});
  wanted.start = State::claimed;
  wanted.lease = 1s;
  must_claim(wanted);
  advance(1s);
  must_claim(marked("d", {suspect("x")}));
}

TEST_P(MarkConformance, a_mark_that_does_not_refuse_grants_tells_and_is_taken_over) {
  const Record first = must_claim(marked("a", {suspect("x", false)}));
  advance(20s);
  const Result<ClaimReply> second = claim(marked("b", {suspect("x", false)}));
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->granted);
  ASSERT_TRUE(second->standing);
  EXPECT_EQ(second->standing->operation_id, first.operation_id);
  ASSERT_TRUE(release(first)) << "frees nothing: the mark is the second's now";
  advance(20s);
  const Result<ClaimReply> third = claim(marked("c", {suspect("x", false)}));
  ASSERT_TRUE(third);
  ASSERT_TRUE(third->standing) << "the window begins again with the second";
  EXPECT_EQ(third->standing->operation_id, second->record.operation_id);
}

TEST_P(MarkConformance, a_refusal_by_one_mark_leaves_the_other_as_it_was) {
  const Record first = must_claim(marked("a", {unique("order 1")}));
  const Record second = must_claim(marked("b", {suspect("x")}));
  expect_refused(marked("c", {unique("order 2"), suspect("x")}), second);
  expect_refused(marked("c", {suspect("y"), unique("order 1")}), first);
  must_claim(marked("d", {unique("order 2"), suspect("y")}));
  const Result<ClaimReply> both = claim(marked("e", {suspect("x"), unique("order 1")}));
  EXPECT_EQ(both->standing->kind, MarkKind::unique) << "unique is looked at first";
}

TEST_P(MarkConformance, marks_are_no_records) {
  const Record mine = must_claim(marked("a", {unique("order 1"), suspect("x")}));
  EXPECT_EQ(list({})->records.size(), 1u);
  EXPECT_EQ(stats().records, 1u);
  EXPECT_EQ(stats().open_records, 1u);
  EXPECT_EQ(lookup(unique("order 1").scope).error().code, Errc::not_found);
  ASSERT_TRUE(complete(mine));
  EXPECT_EQ(list({})->records.size(), 1u);
  EXPECT_EQ(stats().records, 1u);
  EXPECT_EQ(stats().open_records, 0u);
  EXPECT_EQ(lookup(mine.operation_id)->scope, mine.scope);
  advance(24h * 31);
  EXPECT_LE(purge_all().removed, 1u);
  EXPECT_EQ(stats().records, 0u);
  EXPECT_TRUE(list({})->records.empty());
}

TEST_P(MarkConformance, a_purge_drops_marks_that_stand_no_more_and_no_other) {
  for (int i = 0; i < 50; ++i) {
    const std::string n = std::to_string(i);
    ASSERT_TRUE(complete(must_claim(marked("short" + n, {unique("short" + n, 1min)}))));
    ASSERT_TRUE(complete(must_claim(marked("long" + n, {unique("long" + n, 48h)}))));
  }
  advance(25h);
  purge_all();
  purge_all();
  for (int i = 0; i < 50; ++i) {
    const std::string n = std::to_string(i);
    must_claim(marked("other short" + n, {unique("short" + n)}));
    EXPECT_FALSE(claim(marked("other long" + n, {unique("long" + n)}))->granted);
  }
}

TEST_P(MarkConformance, a_restart_keeps_every_mark) {
  const Record kept = must_claim(marked("kept", {unique("kept")}));
  ASSERT_TRUE(complete(kept));
  const Record lost = must_claim(marked("lost", {unique("lost")}));
  ASSERT_TRUE(unknown(lost));
  const Record running = must_claim(marked("running", {unique("running")}));
  const Record like = must_claim(marked("like", {suspect("x")}));
  ASSERT_TRUE(complete(like));
  ASSERT_TRUE(release(must_claim(marked("freed", {unique("freed")}))));
  if (!under_test_->restart()) GTEST_SKIP() << "this store keeps nothing";
  expect_refused(marked("b", {unique("kept")}), kept);
  expect_refused(marked("b", {unique("lost")}), lost);
  expect_refused(marked("b", {unique("running")}), running);
  expect_refused(marked("b", {suspect("x")}), like);
  must_claim(marked("c", {unique("freed")}));
  advance(24h * 2);
  purge_all();
  ASSERT_TRUE(under_test_->restart());
  expect_refused(marked("b", {unique("kept")}), kept);
  expect_refused(marked("b", {unique("lost")}), lost);
  must_claim(marked("b", {suspect("x")}));
}

TEST_P(MarkConformance, a_lapsed_claim_that_is_taken_again_with_other_marks_gives_the_first_ones_back) {
  for (const bool with_other : {true, false}) {
    SCOPED_TRACE(with_other);
    const std::string key = with_other ? "a" : "b";
    ClaimRequest first = marked(key, {unique("old " + key), suspect("old " + key)}, "one");
    first.start = State::claimed;
    must_claim(first);
    advance(30s);
    must_claim(marked(key, with_other ? std::vector{unique("new")} : std::vector<Mark>{}, "two"));
    must_claim(marked("another " + key, {unique("old " + key), suspect("old " + key)}));
  }
}

TEST_P(MarkConformance, what_may_have_come_true_is_kept_when_its_key_runs_again_with_other_marks) {
  const Record lost = must_claim(marked("a", {unique("old", 1h)}, "one"));
  ASSERT_TRUE(unknown(lost));
  ClaimRequest again = marked("a", {unique("new", 1h)}, "two");
  again.take_unknown = true;
  const Record second = must_claim(again);
  expect_refused(marked("b", {unique("old")}), lost);
  ASSERT_TRUE(complete(second));
  expect_refused(marked("b", {unique("old")}), lost);
  expect_refused(marked("b", {unique("new")}), lost);
  advance(1h);
  must_claim(marked("b", {unique("old"), suspect("x")}));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MarkConformance);

}  // namespace
}  // namespace onceward::testing
