// How long records stay, what remains of them, and how they are listed and purged (I9).
#include <set>
#include <thread>

#include "conformance/store_conformance.hpp"
#include "core/scope.hpp"

namespace onceward::testing {
namespace {

using namespace std::chrono_literals;

TEST_P(StoreConformance, an_outcome_lives_for_its_ttl_to_the_millisecond) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(complete(mine));
  advance(24h - 1ms);
  EXPECT_TRUE(lookup(mine.scope));
  EXPECT_FALSE(claim(request("k", "body", "other"))->granted);
  advance(1ms);
  EXPECT_EQ(lookup(mine.scope).error().code, Errc::not_found);
  const Record fresh = must_claim(request("k", "body", "other"));
  EXPECT_EQ(fresh.epoch, 1u);
}

TEST_P(StoreConformance, a_ttl_of_thirty_days_is_kept) {
  ClaimRequest wanted = request("k");
  wanted.ttl = 24h * 30;
  const Record mine = must_claim(wanted);
  ASSERT_TRUE(complete(mine));
  advance(24h * 30 - 1ms);
  EXPECT_TRUE(lookup(mine.scope));
  advance(1ms);
  EXPECT_FALSE(lookup(mine.scope));
}

TEST_P(StoreConformance, a_ttl_of_one_millisecond_is_kept) {
  ClaimRequest wanted = request("k");
  wanted.ttl = 1ms;
  const Record mine = must_claim(wanted);
  ASSERT_TRUE(complete(mine));
  EXPECT_TRUE(lookup(mine.scope));
  advance(1ms);
  EXPECT_FALSE(lookup(mine.scope));
}

TEST_P(StoreConformance, the_ttl_counts_from_completion) {
  const Record mine = must_claim(request("k"));
  advance(20s);
  ASSERT_TRUE(complete(mine));
  advance(24h - 1ms);
  EXPECT_TRUE(lookup(mine.scope));
}

TEST_P(StoreConformance, a_completion_can_bring_its_own_ttl) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(complete(mine, "answer", State::succeeded, 5s));
  advance(5s);
  EXPECT_FALSE(lookup(mine.scope));
}

TEST_P(StoreConformance, a_receipt_remains_after_the_ttl_and_then_goes) {
  ClaimRequest wanted = request("k");
  wanted.receipt_ttl = 1h;
  const Record mine = must_claim(wanted);
  ASSERT_TRUE(complete(mine));
  advance(24h);
  const auto duplicate = claim(request("k", "body", "other"));
  ASSERT_TRUE(duplicate);
  EXPECT_FALSE(duplicate->granted);
  EXPECT_EQ(duplicate->record.state, State::expired);
  EXPECT_FALSE(duplicate->record.response);
  EXPECT_EQ(duplicate->record.operation_id, mine.operation_id);
  EXPECT_EQ(duplicate->record.fingerprint, mine.fingerprint);
  advance(1h - 1ms);
  EXPECT_TRUE(lookup(mine.scope));
  advance(1ms);
  EXPECT_FALSE(lookup(mine.scope));
}

TEST_P(StoreConformance, an_expired_record_cannot_be_completed_again) {
  ClaimRequest wanted = request("k");
  wanted.receipt_ttl = 1h;
  const Record mine = must_claim(wanted);
  ASSERT_TRUE(complete(mine));
  advance(24h);
  EXPECT_FALSE(complete(mine));
  EXPECT_EQ(lookup(mine.scope)->state, State::expired);
}

TEST_P(StoreConformance, a_purge_removes_what_is_past_its_time_and_nothing_else) {
  const Record old = must_claim(request("old"));
  ASSERT_TRUE(complete(old, "x", State::succeeded, 1s));
  const Record live = must_claim(request("live"));
  ASSERT_TRUE(complete(live));
  advance(2s);
  const PurgeReply purged = purge_all();
  EXPECT_LE(purged.removed, 1u);  // a store may have dropped it already, without being asked
  EXPECT_FALSE(lookup(old.scope));
  EXPECT_TRUE(lookup(live.scope));
}

TEST_P(StoreConformance, a_purge_never_touches_what_is_not_final) {
  const Record running = must_claim(request("running"));
  const Record lost = must_claim(request("lost"));
  ASSERT_TRUE(unknown(lost));
  ClaimRequest wanted = request("claimed");
  wanted.start = State::claimed;
  const Record claimed = must_claim(wanted);
  advance(24h * 3650);
  purge_all();
  PurgeRequest everything;
  everything.final_too = true;
  purge_all(everything);
  EXPECT_EQ(lookup(running.scope)->state, State::unknown);  // I9
  EXPECT_EQ(lookup(lost.scope)->state, State::unknown);
  EXPECT_EQ(lookup(claimed.scope)->state, State::claimed);
}

TEST_P(StoreConformance, a_purge_turns_records_past_their_ttl_into_receipts) {
  ClaimRequest wanted = request("k");
  wanted.receipt_ttl = 1h;
  const Record mine = must_claim(wanted);
  ASSERT_TRUE(complete(mine, std::string(100'000, 'x')));
  advance(24h);
  purge_all();
  EXPECT_EQ(lookup(mine.scope)->state, State::expired);
  advance(1h);
  purge_all();
  EXPECT_FALSE(lookup(mine.scope));
}

TEST_P(StoreConformance, a_purge_goes_in_chunks) {
  for (int i = 0; i < 25; ++i) {
    const Record mine = must_claim(request("k" + std::to_string(i)));
    ASSERT_TRUE(complete(mine, "x", State::succeeded, 1s));
  }
  advance(1s);
  PurgeRequest small;
  small.chunk = 10;
  const Result<PurgeReply> first = purge(small);
  ASSERT_TRUE(first);
  EXPECT_LE(first->removed, 10u);
  purge_all(small);
  for (int i = 0; i < 25; ++i) EXPECT_FALSE(lookup(request("k" + std::to_string(i)).scope));
}

TEST_P(StoreConformance, an_operators_purge_takes_final_records_of_one_tenant_only) {
  ClaimRequest theirs = request("theirs");
  theirs.request = std::make_shared<const RequestInfo>(RequestInfo{"they", "orders.create", "", {}});
  const Record a = must_claim(theirs);
  ASSERT_TRUE(complete(a));
  const Record b = must_claim(request("mine"));
  ASSERT_TRUE(complete(b));
  PurgeRequest wanted;
  wanted.final_too = true;
  wanted.tenant = "they";
  EXPECT_EQ(purge_all(wanted).removed, 1u);
  EXPECT_FALSE(lookup(a.scope));
  EXPECT_TRUE(lookup(b.scope));
}

TEST_P(StoreConformance, an_operators_purge_takes_final_records_before_a_time_only) {
  const Record a = must_claim(request("a"));
  ASSERT_TRUE(complete(a));
  advance(1min);
  const Record b = must_claim(request("b"));
  ASSERT_TRUE(complete(b));
  PurgeRequest wanted;
  wanted.final_too = true;
  wanted.updated_before = now() - 30s;
  EXPECT_EQ(purge_all(wanted).removed, 1u);
  EXPECT_FALSE(lookup(a.scope));
  EXPECT_TRUE(lookup(b.scope));
}

TEST_P(StoreConformance, a_purge_against_claims_leaves_each_key_whole_or_new) {
  for (int round = 0; round < 20; ++round) {
    const std::string key = "k" + std::to_string(round);
    const Record mine = must_claim(request(key));
    ASSERT_TRUE(complete(mine, "x", State::succeeded, 1s));
    advance(1s);
    std::jthread purger([&] {
      BlockingExecutor executor;
      const PurgeRequest wanted;
      (void)executor.call<PurgeReply>([&](auto& r) { return store().purge(wanted, r); });
    });
    const auto fresh = claim(request(key, "body", "other"));
    purger.join();
    ASSERT_TRUE(fresh);
    ASSERT_TRUE(fresh->granted);
    ASSERT_EQ(lookup(mine.scope)->owner, fresh->record.owner) << "the purge removed a new claim";
  }
}

TEST_P(StoreConformance, a_released_record_goes_after_its_ttl) {
  const Record mine = must_claim(request("k"));
  ASSERT_TRUE(release(mine));
  advance(24h);
  purge_all();
  EXPECT_FALSE(lookup(mine.scope));
}

TEST_P(StoreConformance, a_list_pages_through_everything_once) {
  std::set<OperationId> expected;
  for (int i = 0; i < 57; ++i) expected.insert(must_claim(request("k" + std::to_string(i))).operation_id);
  std::multiset<OperationId> seen;
  ListRequest page;
  page.limit = 10;
  for (int step = 0; step < 20; ++step) {
    const auto reply = list(page);
    ASSERT_TRUE(reply);
    EXPECT_LE(reply->records.size(), 10u);
    for (const Record& record : reply->records) seen.insert(record.operation_id);
    page.cursor = reply->cursor;
    if (page.cursor.empty()) break;
  }
  EXPECT_EQ(seen, (std::multiset<OperationId>(expected.begin(), expected.end())));
}

TEST_P(StoreConformance, a_list_goes_on_while_others_claim) {
  std::set<OperationId> expected;
  for (int i = 0; i < 40; ++i) expected.insert(must_claim(request("k" + std::to_string(i))).operation_id);
  std::multiset<OperationId> seen;
  ListRequest page;
  page.limit = 7;
  for (int step = 0; step < 100; ++step) {
    const auto reply = list(page);
    ASSERT_TRUE(reply);
    for (const Record& record : reply->records) seen.insert(record.operation_id);
    page.cursor = reply->cursor;
    if (page.cursor.empty()) break;
    must_claim(request("late" + std::to_string(step)));
  }
  for (const OperationId& id : expected) EXPECT_EQ(seen.count(id), 1u);
}

TEST_P(StoreConformance, a_list_filters_by_state_operation_tenant_and_age) {
  const Record running = must_claim(request("running"));
  const Record done = must_claim(request("done"));
  ASSERT_TRUE(complete(done));
  ClaimRequest other = request("other");
  other.request = std::make_shared<const RequestInfo>(RequestInfo{"they", "refunds", "", {}});
  const Record theirs = must_claim(other);
  advance(10s);
  const Record young = must_claim(request("young"));

  const auto ids = [&](ListRequest wanted) {
    std::set<OperationId> found;
    for (const Record& record : list(wanted)->records) found.insert(record.operation_id);
    return found;
  };
  ListRequest by_state;
  by_state.state = State::succeeded;
  EXPECT_EQ(ids(by_state), (std::set{done.operation_id}));
  ListRequest by_operation;
  by_operation.operation = "refunds";
  EXPECT_EQ(ids(by_operation), (std::set{theirs.operation_id}));
  ListRequest by_tenant;
  by_tenant.tenant = "they";
  EXPECT_EQ(ids(by_tenant), (std::set{theirs.operation_id}));
  ListRequest by_age;
  by_age.updated_before = now();
  EXPECT_EQ(ids(by_age), (std::set{running.operation_id, done.operation_id, theirs.operation_id}));
  EXPECT_EQ(ids({}).count(young.operation_id), 1u);
}

TEST_P(StoreConformance, a_list_shows_lapsed_leases_as_unknown_and_hides_what_is_gone) {
  const Record lapsed = must_claim(request("lapsed"));
  const Record gone = must_claim(request("gone"));
  ASSERT_TRUE(complete(gone, "x", State::succeeded, 1s));
  advance(31s);
  ListRequest unknowns;
  unknowns.state = State::unknown;
  const auto found = list(unknowns);
  ASSERT_EQ(found->records.size(), 1u);
  EXPECT_EQ(found->records[0].operation_id, lapsed.operation_id);
  EXPECT_EQ(list({})->records.size(), 1u);
}

TEST_P(StoreConformance, a_cursor_that_is_not_ours_is_refused) {
  ListRequest wanted;
  wanted.cursor = "not a cursor!";
  EXPECT_EQ(list(wanted).error().code, Errc::invalid);
}

TEST_P(StoreConformance, an_empty_store_lists_and_purges_nothing) {
  EXPECT_TRUE(list({})->records.empty());
  EXPECT_EQ(purge_all().removed, 0u);
  EXPECT_EQ(stats().records, 0u);
}

TEST_P(StoreConformance, statistics_count_what_is_stored_and_what_is_open) {
  const Record mine = must_claim(request("a"));
  must_claim(request("b"));
  ASSERT_TRUE(complete(mine));
  EXPECT_EQ(stats().records, 2u);
  EXPECT_EQ(stats().open_records, 1u);
}

}  // namespace
}  // namespace onceward::testing
