// What an operation was for and what it came to: references and results.
#include "conformance/store_conformance.hpp"

namespace onceward::testing {
using namespace std::chrono_literals;

ClaimRequest ResultConformance::referring(const std::string& key, const std::string& reference,
                                          const std::string& owner) {
  ClaimRequest wanted = request(key, "body", owner);
  RequestInfo info = *wanted.request;
  info.reference = reference;
  wanted.request = std::make_shared<const RequestInfo>(std::move(info));
  return wanted;
}

Result<Record> ResultConformance::complete_as(const Record& mine, OperationResult result, State as) {
  auto response = std::make_shared<const Response>(Response{201, false, "", "yes"});
  CompleteRequest request{fence_of(mine), as, std::move(response), {}};
  request.result = std::make_shared<const OperationResult>(std::move(result));
  return executor_.call<Record>([&](auto& reply) { return store().complete(request, reply); });
}

std::set<Scope> ResultConformance::found_by(const std::string& reference, std::size_t page) {
  ListRequest wanted;
  wanted.reference = reference;
  wanted.limit = page;
  std::set<Scope> found;
  do {
    const Result<ListReply> reply = list(wanted);
    EXPECT_TRUE(reply);
    if (!reply) break;
    for (const Record& record : reply->records)
      EXPECT_TRUE(found.insert(record.scope).second) << "shown twice";
    wanted.cursor = reply->cursor;
  } while (!wanted.cursor.empty());
  return found;
}

namespace {

TEST_P(ResultConformance, operations_are_found_by_their_reference_and_no_others) {
  const Record first = must_claim(referring("a", "order 1"));
  const Record second = must_claim(referring("b", "order 1"));
  const Record other = must_claim(referring("c", "order 10"));
  must_claim(request("d"));
  EXPECT_EQ(found_by("order 1"), (std::set{first.scope, second.scope}));
  EXPECT_EQ(found_by("order 1", 1), (std::set{first.scope, second.scope}));
  EXPECT_EQ(found_by("order 10"), std::set{other.scope});
  EXPECT_EQ(found_by("order"), std::set<Scope>{});
  EXPECT_EQ(lookup(first.scope)->request->reference, "order 1");
}

TEST_P(ResultConformance, references_may_be_long_and_of_any_bytes) {
  const std::string odd("a\0b\\\xff \xc3\xa9", 8);
  const std::string common(300, 'x');
  const Record first = must_claim(referring("a", odd));
  const Record second = must_claim(referring("b", common + "1"));
  must_claim(referring("c", common + "2"));
  EXPECT_EQ(found_by(odd), std::set{first.scope});
  EXPECT_EQ(found_by(common + "1"), std::set{second.scope});
}

TEST_P(ResultConformance, a_result_is_stored_with_the_outcome) {
  const OperationResult created{"order", "17", ""};
  const OperationResult refused{"", "", "CARD_DECLINED"};
  const Record good = must_claim(request("a"));
  const Record bad = must_claim(request("b"));
  const Record plain = must_claim(request("c"));
  ASSERT_TRUE(complete_as(good, created));
  ASSERT_TRUE(complete_as(bad, refused, State::failed));
  ASSERT_TRUE(complete(plain));
  ASSERT_TRUE(lookup(good.scope)->result);
  EXPECT_EQ(*lookup(good.scope)->result, created);
  EXPECT_EQ(*lookup(bad.operation_id)->result, refused);
  EXPECT_FALSE(lookup(plain.scope)->result);
  EXPECT_EQ(*claim(request("a", "body", "other"))->record.result, created);
}

TEST_P(ResultConformance, a_resolution_can_bring_a_result) {
  const Record mine = must_claim(request("a"));
  ASSERT_TRUE(unknown(mine));
  ResolveRequest wanted{mine.scope, mine.operation_id, mine.epoch, State::succeeded, nullptr};
  wanted.result = std::make_shared<const OperationResult>(OperationResult{"order", "17", ""});
  ASSERT_TRUE(executor_.call<Record>([&](auto& reply) { return store().resolve(wanted, reply); }));
  ASSERT_TRUE(lookup(mine.scope)->result);
  EXPECT_EQ(lookup(mine.scope)->result->resource_id, "17");
}

TEST_P(ResultConformance, reference_and_result_stay_with_the_receipt) {
  ClaimRequest wanted = referring("a", "order 1");
  wanted.receipt_ttl = 24h * 7;
  const Record mine = must_claim(wanted);
  ASSERT_TRUE(complete_as(mine, {"order", "17", ""}));
  advance(wanted.ttl);
  for (const char* when : {"before the purge", "after it"}) {
    const Result<Record> receipt = lookup(mine.scope);
    ASSERT_TRUE(receipt) << when;
    EXPECT_EQ(receipt->state, State::expired) << when;
    EXPECT_FALSE(receipt->response) << when;
    ASSERT_TRUE(receipt->result) << when;
    EXPECT_EQ(receipt->result->resource_id, "17") << when;
    EXPECT_EQ(found_by("order 1"), std::set{mine.scope}) << when;
    purge_all();
  }
  advance(wanted.receipt_ttl);
  EXPECT_EQ(found_by("order 1"), std::set<Scope>{});
}

TEST_P(ResultConformance, a_key_that_runs_again_begins_without_what_was_before) {
  ASSERT_TRUE(complete_as(must_claim(referring("a", "order 1")), {"order", "17", ""}));
  advance(24h);
  const Record again = must_claim(referring("a", "order 2", "again"));
  EXPECT_FALSE(again.result);
  EXPECT_FALSE(lookup(again.scope)->result);
  EXPECT_EQ(found_by("order 1"), std::set<Scope>{});
  EXPECT_EQ(found_by("order 2"), std::set{again.scope});
}

TEST_P(ResultConformance, a_restart_keeps_references_and_results) {
  const Record mine = must_claim(referring("a", "order 1"));
  const Record open = must_claim(referring("b", "order 1"));
  ASSERT_TRUE(complete_as(mine, {"order", "17", ""}));
  if (!under_test_->restart()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_EQ(found_by("order 1"), (std::set{mine.scope, open.scope}));
  EXPECT_EQ(lookup(mine.scope)->result->resource_id, "17");
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ResultConformance);

}  // namespace
}  // namespace onceward::testing
