// What each verb does to a record, and what it must refuse (CONTRACT 2; I3, I4, I7).
#include <thread>

#include "conformance/store_conformance.hpp"

namespace onceward::testing {
namespace {

using namespace std::chrono_literals;

bool same(const Record& a, const Record& b) {
  return a.epoch == b.epoch && a.owner == b.owner && a.state == b.state && a.lease_until == b.lease_until &&
         a.updated_at == b.updated_at && a.fingerprint == b.fingerprint;
}

TEST_P(StoreConformance, a_first_claim_is_granted_at_epoch_one) {
  const ClaimRequest wanted = request("k");
  const Record mine = must_claim(wanted);
  EXPECT_EQ(mine.epoch, 1u);
  EXPECT_EQ(mine.state, State::processing);
  EXPECT_EQ(mine.owner, wanted.owner);
  EXPECT_EQ(mine.operation_id, wanted.operation_id);
  EXPECT_EQ(mine.lease_until, now() + 30s);
}

TEST_P(StoreConformance, a_claim_can_begin_as_claimed) {
  ClaimRequest wanted = request("k");
  wanted.start = State::claimed;
  EXPECT_EQ(must_claim(wanted).state, State::claimed);
}

TEST_P(StoreConformance, a_record_keeps_everything_it_was_claimed_with) {
  const ClaimRequest wanted = request("k");
  must_claim(wanted);
  const Result<Record> record = lookup(wanted.scope);
  ASSERT_TRUE(record);
  EXPECT_EQ(*record->request, *wanted.request);
  EXPECT_EQ(record->fingerprint, wanted.fingerprint);
  EXPECT_EQ(record->ttl, 24h);
  EXPECT_EQ(record->created_at, now());
}

TEST_P(StoreConformance, a_second_claim_by_another_owner_is_refused_and_changes_nothing) {
  const Record mine = must_claim(request("k"));
  advance(1s);
  const auto other = claim(request("k", "body", "other"));
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->granted);
  EXPECT_TRUE(same(other->record, mine));
  EXPECT_TRUE(same(*lookup(mine.scope), mine));  // I7
}

TEST_P(StoreConformance, a_claim_asked_again_by_its_owner_is_still_its_own) {
  const ClaimRequest wanted = request("k");
  const Record mine = must_claim(wanted);
  const Record again = must_claim(wanted);
  EXPECT_TRUE(same(mine, again));  // I10
}

TEST_P(StoreConformance, a_different_request_is_refused_while_the_first_runs) {
  must_claim(request("k"));
  const auto other = claim(request("k", "other body", "other"));
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->granted);
}

TEST_P(StoreConformance, sixteen_contenders_of_one_key_get_one_grant) {
  for (int round = 0; round < 50; ++round) {
    std::vector<std::jthread> contenders;
    std::atomic<int> granted{0};
    std::atomic<int> failed{0};
    for (int i = 0; i < 16; ++i) {
      contenders.emplace_back([&, i] {
        BlockingExecutor executor;
        const ClaimRequest wanted = request("race" + std::to_string(round), "body", "o" + std::to_string(i));
        const auto reply = executor.call<ClaimReply>([&](auto& r) { return store().claim(wanted, r); });
        if (!reply) ++failed;
        if (reply && reply->granted) ++granted;
      });
    }
    contenders.clear();
    ASSERT_EQ(granted, 1) << "round " << round;
    ASSERT_EQ(failed, 0);
  }
}

TEST_P(StoreConformance, sixteen_contenders_of_a_released_key_get_one_grant_at_the_next_epoch) {
  const Record first = must_claim(request("k"));
  ASSERT_TRUE(release(first));
  std::vector<std::jthread> contenders;
  std::atomic<int> granted{0};
  for (int i = 0; i < 16; ++i) {
    contenders.emplace_back([&, i] {
      BlockingExecutor executor;
      const ClaimRequest wanted = request("k", "body", "o" + std::to_string(i));
      const auto reply = executor.call<ClaimReply>([&](auto& r) { return store().claim(wanted, r); });
      if (reply && reply->granted) {
        ++granted;
        EXPECT_EQ(reply->record.epoch, 2u);
      }
    });
  }
  contenders.clear();
  EXPECT_EQ(granted, 1);
}

TEST_P(StoreConformance, a_record_is_found_by_scope_and_by_operation) {
  const Record mine = must_claim(request("k"));
  must_claim(request("another"));
  EXPECT_EQ(lookup(mine.scope)->operation_id, mine.operation_id);
  EXPECT_EQ(lookup(mine.operation_id)->scope, mine.scope);
}

TEST_P(StoreConformance, what_was_never_claimed_is_not_found) {
  EXPECT_EQ(lookup(request("k").scope).error().code, Errc::not_found);
  EXPECT_EQ(lookup(request("k").operation_id).error().code, Errc::not_found);
  must_claim(request("k"));
  EXPECT_EQ(lookup(request("K").scope).error().code, Errc::not_found);
}

TEST_P(StoreConformance, keys_that_differ_by_one_byte_or_by_case_are_different_records) {
  for (const char* key : {"key", "Key", "kez", "key ", " key", "ke", "key1", "key\x01"}) {
    EXPECT_EQ(must_claim(request(key)).epoch, 1u) << key;
  }
}

TEST_P(StoreConformance, dispatch_makes_a_claimed_record_processing) {
  ClaimRequest wanted = request("k");
  wanted.start = State::claimed;
  const Record mine = must_claim(wanted);
  EXPECT_EQ(dispatch(mine)->state, State::processing);
  EXPECT_EQ(dispatch(mine)->state, State::processing);  // repeating it is harmless
}

TEST_P(StoreConformance, dispatch_after_the_lease_is_refused) {
  ClaimRequest wanted = request("k");
  wanted.start = State::claimed;
  const Record mine = must_claim(wanted);
  advance(30s);
  EXPECT_EQ(dispatch(mine).error().code, Errc::stale);
}

TEST_P(StoreConformance, dispatch_of_a_finished_record_is_a_conflict) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(complete(mine));
  EXPECT_EQ(dispatch(mine).error().code, Errc::conflict);
}

TEST_P(StoreConformance, a_claimed_record_can_be_taken_over_when_its_lease_ends) {
  ClaimRequest wanted = request("k");
  wanted.start = State::claimed;
  const Record first = must_claim(wanted);
  advance(30s - 1ms);
  EXPECT_FALSE(claim(request("k", "body", "other"))->granted);
  advance(1ms);
  const Record second = must_claim(request("k", "body", "other"));
  EXPECT_EQ(second.epoch, 2u);
  EXPECT_EQ(second.operation_id, first.operation_id);
}

TEST_P(StoreConformance, a_takeover_keeps_the_first_creation_time) {
  const Record first = must_claim(request("k"));
  ASSERT_TRUE(release(first));
  advance(5s);
  const Record second = must_claim(request("k", "body", "other"));
  EXPECT_EQ(second.created_at, first.created_at);
  EXPECT_EQ(second.claimed_at, first.claimed_at + 5s);
}

TEST_P(StoreConformance, a_processing_record_becomes_unknown_when_its_lease_ends_and_is_never_executable) {
  const Record mine = must_claim(request("k"));
  advance(30s);
  const auto other = claim(request("k", "body", "other"));
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->granted);  // I4
  EXPECT_EQ(other->record.state, State::unknown);
  EXPECT_EQ(other->record.evidence.cause, UnknownCause::owner_lost);
  EXPECT_EQ(lookup(mine.scope)->state, State::unknown);
  advance(24h * 365);
  EXPECT_FALSE(claim(request("k", "body", "other"))->granted);
}

TEST_P(StoreConformance, the_lease_ends_to_the_millisecond) {
  const Record mine = must_claim(request("k"));
  advance(30s - 1ms);
  EXPECT_EQ(lookup(mine.scope)->state, State::processing);
  advance(1ms);
  EXPECT_EQ(lookup(mine.scope)->state, State::unknown);
}

TEST_P(StoreConformance, forward_takes_an_unknown_record_over_at_a_higher_epoch) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(unknown(mine));
  ClaimRequest forward = request("k", "body", "other");
  forward.take_unknown = true;
  const Record next = must_claim(forward);
  EXPECT_EQ(next.epoch, 2u);
  EXPECT_EQ(next.operation_id, mine.operation_id);
  EXPECT_EQ(complete(mine).error().code, Errc::stale);
}

TEST_P(StoreConformance, forward_takes_nothing_that_is_still_running) {
  must_claim(request("k"));
  ClaimRequest forward = request("k", "body", "other");
  forward.take_unknown = true;
  EXPECT_FALSE(claim(forward)->granted);
}

TEST_P(StoreConformance, forward_takes_nothing_for_a_different_request) {
  ASSERT_TRUE(unknown(must_claim(request("k"))));
  ClaimRequest forward = request("k", "other body", "other");
  forward.take_unknown = true;
  EXPECT_FALSE(claim(forward)->granted);
}

TEST_P(StoreConformance, a_forwarded_epoch_that_had_no_effect_leaves_the_earlier_one_unknown) {
  for (const bool late : {false, true}) {
    const std::string key = late ? "late" : "early";
    ASSERT_TRUE(unknown(must_claim(request(key))));
    ClaimRequest forward = request(key, "body", "other");
    forward.take_unknown = true;
    const Record second = must_claim(forward);
    EXPECT_TRUE(second.evidence.earlier_too);
    if (late) ASSERT_TRUE(unknown(second));
    ASSERT_TRUE(release(second, true));
    ASSERT_TRUE(release(second, true));
    EXPECT_EQ(lookup(second.scope)->state, State::unknown);  // I4
    EXPECT_FALSE(claim(request(key, "body", "third"))->granted);
    advance(24h * 3650);
    purge_all();
    EXPECT_EQ(lookup(second.scope)->state, State::unknown);  // I9
  }
}

TEST_P(StoreConformance, a_forwarded_epoch_that_completes_settles_the_key) {
  ASSERT_TRUE(unknown(must_claim(request("k"))));
  ClaimRequest forward = request("k", "body", "other");
  forward.take_unknown = true;
  const Record second = must_claim(forward);
  ASSERT_TRUE(complete(second, "done"));
  EXPECT_FALSE(lookup(second.scope)->evidence.earlier_too);
  EXPECT_EQ(lookup(second.scope)->response->body, "done");
}

TEST_P(StoreConformance, completion_stores_the_response_and_starts_the_ttl) {
  const Record mine = must_claim(request("k"));
  advance(2s);
  const Result<Record> done = complete(mine, std::string("\0\r\n\xff bytes", 11));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->state, State::succeeded);
  EXPECT_EQ(done->expires_at, now() + 24h);
  const Result<Record> stored = lookup(mine.scope);
  EXPECT_EQ(stored->response->body, std::string("\0\r\n\xff bytes", 11));
  EXPECT_EQ(stored->response->headers, "Location: /orders/1\r\n");
  EXPECT_EQ(stored->response->status, 201);
}

TEST_P(StoreConformance, a_failure_is_stored_like_a_success) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(complete(mine, "no", State::failed));
  EXPECT_EQ(lookup(mine.scope)->state, State::failed);
  EXPECT_EQ(lookup(mine.scope)->response->body, "no");
}

TEST_P(StoreConformance, a_claim_of_a_finished_key_returns_the_response) {
  ASSERT_TRUE(complete(must_claim(request("k")), "answer"));
  const auto duplicate = claim(request("k", "body", "other"));
  ASSERT_TRUE(duplicate);
  EXPECT_FALSE(duplicate->granted);
  EXPECT_EQ(duplicate->record.response->body, "answer");
}

TEST_P(StoreConformance, a_large_response_comes_back_whole) {
  std::string large(3 << 20, 'x');
  for (std::size_t i = 0; i < large.size(); i += 4099) large[i] = static_cast<char>(i % 251);
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(complete(mine, large));
  EXPECT_TRUE(lookup(mine.scope)->response->body == large);
}

TEST_P(StoreConformance, an_empty_response_is_a_response) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(complete(mine, ""));
  ASSERT_TRUE(lookup(mine.scope)->response);
  EXPECT_EQ(lookup(mine.scope)->response->body, "");
}

TEST_P(StoreConformance, repeating_a_completion_is_harmless) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(complete(mine));
  advance(5s);
  const Result<Record> again = complete(mine);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->expires_at, now() - 5s + 24h);
}

TEST_P(StoreConformance, a_second_completion_with_another_outcome_is_a_conflict) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(complete(mine, "first"));
  EXPECT_EQ(complete(mine, "second").error().code, Errc::conflict);
  EXPECT_EQ(complete(mine, "first", State::failed).error().code, Errc::conflict);
  EXPECT_EQ(lookup(mine.scope)->response->body, "first");
}

TEST_P(StoreConformance, completion_is_accepted_from_claimed) {
  ClaimRequest wanted = request("k");
  wanted.start = State::claimed;
  EXPECT_TRUE(complete(must_claim(wanted)));
}

TEST_P(StoreConformance, completion_by_the_same_epoch_is_accepted_from_unknown) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(unknown(mine));
  ASSERT_TRUE(complete(mine, "late"));
  EXPECT_EQ(lookup(mine.scope)->state, State::succeeded);
}

TEST_P(StoreConformance, completion_after_the_lease_is_accepted_while_the_epoch_stands) {
  const Record mine = must_claim(request("k"));
  advance(1h);
  ASSERT_TRUE(complete(mine, "late"));
  EXPECT_EQ(lookup(mine.scope)->response->body, "late");
}

TEST_P(StoreConformance, a_stale_epoch_can_do_nothing) {
  const Record old = must_claim(request("k"));
  ASSERT_TRUE(release(old));
  const Record mine = must_claim(request("k", "body", "other"));
  EXPECT_EQ(complete(old).error().code, Errc::stale);
  EXPECT_EQ(release(old).error().code, Errc::stale);
  EXPECT_EQ(renew(old, 30s).error().code, Errc::stale);
  EXPECT_EQ(unknown(old).error().code, Errc::stale);
  EXPECT_EQ(dispatch(old).error().code, Errc::stale);
  EXPECT_TRUE(same(*lookup(mine.scope), mine));  // I3
}

TEST_P(StoreConformance, a_wrong_owner_of_the_right_epoch_can_do_nothing) {
  const Record mine = must_claim(request("k"));
  Record thief = mine;
  thief.owner.data[0] ^= 1;
  EXPECT_EQ(complete(thief).error().code, Errc::stale);
  EXPECT_EQ(release(thief).error().code, Errc::stale);
  EXPECT_EQ(renew(thief, 30s).error().code, Errc::stale);
  EXPECT_EQ(unknown(thief).error().code, Errc::stale);
  EXPECT_TRUE(same(*lookup(mine.scope), mine));
}

TEST_P(StoreConformance, an_epoch_from_the_future_can_do_nothing) {
  Record mine = must_claim(request("k"));
  mine.epoch = 2;
  EXPECT_EQ(complete(mine).error().code, Errc::stale);
}

TEST_P(StoreConformance, a_verb_for_a_record_that_is_not_there_says_so) {
  Record never;
  never.scope = request("never").scope;
  never.epoch = 1;
  EXPECT_EQ(complete(never).error().code, Errc::not_found);
  EXPECT_EQ(renew(never, 30s).error().code, Errc::not_found);
  EXPECT_EQ(release(never).error().code, Errc::not_found);
  EXPECT_EQ(resolve(never, State::failed, 1).error().code, Errc::not_found);
}

TEST_P(StoreConformance, renewal_extends_the_lease_from_now) {
  const Record mine = must_claim(request("k"));
  advance(20s);
  EXPECT_EQ(renew(mine, 30s)->lease_until, now() + 30s);
  advance(29s);
  EXPECT_EQ(lookup(mine.scope)->state, State::processing);
}

TEST_P(StoreConformance, renewal_never_shortens_a_lease) {
  const Record mine = must_claim(request("k"));
  EXPECT_EQ(renew(mine, 1s)->lease_until, mine.lease_until);
}

TEST_P(StoreConformance, renewal_never_goes_beyond_max_hold) {
  ClaimRequest wanted = request("k");
  wanted.max_hold = 45s;
  const Record mine = must_claim(wanted);
  advance(20s);
  EXPECT_EQ(renew(mine, 30s)->lease_until, mine.claimed_at + 45s);
  advance(25s);
  EXPECT_FALSE(renew(mine, 30s));
  EXPECT_EQ(lookup(mine.scope)->state, State::unknown);
}

TEST_P(StoreConformance, renewal_after_the_lease_does_not_bring_it_back) {
  const Record mine = must_claim(request("k"));
  advance(30s);
  EXPECT_FALSE(renew(mine, 30s));
  EXPECT_EQ(lookup(mine.scope)->state, State::unknown);
}

TEST_P(StoreConformance, renewal_of_a_finished_record_is_refused) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(complete(mine));
  EXPECT_EQ(renew(mine, 30s).error().code, Errc::conflict);
}

TEST_P(StoreConformance, a_released_key_runs_again_at_the_next_epoch_with_the_same_operation) {
  const Record first = must_claim(request("k"));
  ASSERT_TRUE(release(first));
  EXPECT_EQ(lookup(first.scope)->state, State::released);
  const Record second = must_claim(request("k", "body", "other"));
  EXPECT_EQ(second.epoch, 2u);
  EXPECT_EQ(second.operation_id, first.operation_id);
}

TEST_P(StoreConformance, a_released_key_still_belongs_to_its_request) {
  ASSERT_TRUE(release(must_claim(request("k"))));
  EXPECT_FALSE(claim(request("k", "other body", "other"))->granted);
}

TEST_P(StoreConformance, a_key_released_unsent_may_be_used_by_another_request) {
  ASSERT_TRUE(release(must_claim(request("k")), true));
  const Record second = must_claim(request("k", "other body", "other"));
  EXPECT_EQ(second.epoch, 2u);
  EXPECT_EQ(second.fingerprint, request("k", "other body").fingerprint);
}

TEST_P(StoreConformance, repeating_a_release_is_harmless) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(release(mine));
  EXPECT_TRUE(release(mine));
}

TEST_P(StoreConformance, a_finished_record_cannot_be_released) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(complete(mine));
  EXPECT_EQ(release(mine).error().code, Errc::conflict);
  EXPECT_EQ(lookup(mine.scope)->state, State::succeeded);
}

TEST_P(StoreConformance, a_released_record_cannot_be_completed) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(release(mine));
  EXPECT_EQ(complete(mine).error().code, Errc::conflict);
}

TEST_P(StoreConformance, an_owner_can_say_that_it_does_not_know_and_why) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(unknown(mine, UnknownCause::reset));
  EXPECT_TRUE(unknown(mine, UnknownCause::reset));
  const Result<Record> record = lookup(mine.scope);
  EXPECT_EQ(record->state, State::unknown);
  EXPECT_EQ(record->evidence, (Evidence{UnknownCause::reset, 0, 17}));
}

TEST_P(StoreConformance, the_owner_of_a_lapsed_lease_can_add_the_cause) {
  const Record mine = must_claim(request("k"));
  advance(1h);
  ASSERT_TRUE(unknown(mine, UnknownCause::timeout));
  EXPECT_EQ(lookup(mine.scope)->evidence.cause, UnknownCause::timeout);
}

TEST_P(StoreConformance, a_finished_record_cannot_become_unknown) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(complete(mine));
  EXPECT_EQ(unknown(mine).error().code, Errc::conflict);
}

TEST_P(StoreConformance, a_late_release_by_the_same_epoch_frees_an_unknown_key) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(unknown(mine));
  ASSERT_TRUE(release(mine));
  EXPECT_TRUE(claim(request("k", "body", "other"))->granted);
}

TEST_P(StoreConformance, an_operator_resolves_an_unknown_record_by_epoch) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(unknown(mine));
  EXPECT_EQ(resolve(mine, State::succeeded, 2, "x").error().code, Errc::stale);
  ASSERT_TRUE(resolve(mine, State::succeeded, 1, "resolved"));
  EXPECT_EQ(lookup(mine.scope)->response->body, "resolved");
}

TEST_P(StoreConformance, a_resolution_without_a_response_is_final_too) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(unknown(mine));
  ASSERT_TRUE(resolve(mine, State::succeeded, 1));
  EXPECT_EQ(lookup(mine.scope)->state, State::succeeded);
  EXPECT_FALSE(lookup(mine.scope)->response);
}

TEST_P(StoreConformance, a_resolution_fences_the_owner_out) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(unknown(mine));
  ASSERT_TRUE(resolve(mine, State::released, 1));
  EXPECT_EQ(complete(mine).error().code, Errc::stale);
  EXPECT_EQ(release(mine).error().code, Errc::stale);
  EXPECT_EQ(must_claim(request("k", "body", "other")).epoch, 2u);
}

TEST_P(StoreConformance, a_final_record_cannot_be_resolved) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(complete(mine));
  EXPECT_EQ(resolve(mine, State::failed, 1).error().code, Errc::conflict);
}

TEST_P(StoreConformance, two_operators_at_once_get_one_resolution) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(unknown(mine));
  ASSERT_TRUE(resolve(mine, State::succeeded, 1, "a"));
  EXPECT_FALSE(resolve(mine, State::failed, 1, "b"));
  EXPECT_EQ(lookup(mine.scope)->response->body, "a");
}

TEST_P(StoreConformance, a_returned_record_is_a_copy) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(complete(mine, "answer"));
  Result<Record> copy = lookup(mine.scope);
  copy->epoch = 99;
  copy->state = State::released;
  EXPECT_EQ(lookup(mine.scope)->epoch, 1u);
  EXPECT_EQ(lookup(mine.scope)->state, State::succeeded);
}

TEST_P(StoreConformance, the_request_may_change_after_the_reply) {
  auto wanted = std::make_unique<ClaimRequest>(request("k"));
  const Record mine = must_claim(*wanted);
  wanted->fingerprint = {};
  wanted.reset();
  EXPECT_EQ(lookup(mine.scope)->fingerprint, request("k").fingerprint);
}

TEST_P(StoreConformance, a_damaged_record_is_an_error_and_never_a_miss) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(complete(mine));
  const Record other = must_claim(request("other"));
  ASSERT_TRUE(complete(other));
  if (!under_test_->corrupt(mine.scope)) GTEST_SKIP() << "this store has no bytes to damage";
  EXPECT_EQ(lookup(mine.scope).error().code, Errc::unreadable);  // I5
  EXPECT_EQ(claim(request("k", "body", "other")).error().code, Errc::unreadable);
  EXPECT_TRUE(lookup(other.scope)) << "the rest keeps working";
}

TEST_P(StoreConformance, a_restart_keeps_outcomes_and_releases) {
  const Record done = must_claim(request("done"));
  ASSERT_TRUE(complete(done, "answer"));
  const Record freed = must_claim(request("freed"));
  ASSERT_TRUE(release(freed));
  if (!under_test_->restart()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_EQ(lookup(done.scope)->response->body, "answer");
  EXPECT_EQ(must_claim(request("freed", "body", "other")).epoch, 2u);
}

TEST_P(StoreConformance, a_restart_keeps_what_may_have_run_from_running_again) {
  const Record running = must_claim(request("running"));
  ClaimRequest only_claimed = request("claimed");
  only_claimed.start = State::claimed;
  must_claim(only_claimed);
  if (!under_test_->restart()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_FALSE(claim(request("running", "body", "other"))->granted);
  EXPECT_EQ(lookup(running.scope)->epoch, 1u);
  advance(30s);
  EXPECT_EQ(must_claim(request("claimed", "body", "other")).epoch, 2u);
}

}  // namespace
}  // namespace onceward::testing
