// Records of another store, taken as they are (Adopter): nothing is lost on the way, and what stands here
// and is as late stays.
#include "conformance/store_conformance.hpp"
#include "core/adoption.hpp"
#include "core/scope.hpp"
#include "core/transition.hpp"
#include "support/same_record.hpp"

namespace onceward::testing {
using namespace std::chrono_literals;

void RecordAdoption::SetUp() {
  StoreConformance::SetUp();
  if (!dynamic_cast<Adopter*>(&store())) GTEST_SKIP() << "a layer on top of another store";
}

void MarkAdoption::SetUp() {
  MarkConformance::SetUp();
  if (!IsSkipped() && !dynamic_cast<Adopter*>(&store())) GTEST_SKIP() << "nothing is copied to or from it";
}

MarkEntry MarkAdoption::fact(const std::string& name, std::uint8_t who, Duration left) {
  MarkEntry entry{unique(name).scope, {}, now() + left};
  entry.holder.scope = scope_of("", "", "elsewhere", std::to_string(who), "");
  entry.holder.operation_id = make_operation_id(entry.holder.scope, now(), who);
  return entry;
}

namespace {

// A record as another store would give it, made by the rules themselves.
Record elsewhere(const ClaimRequest& wanted, Timestamp at) {
  return *transition(nullptr, wanted, at - 5s).next;
}

Record completed(const Record& claimed, Timestamp at) {
  auto response = std::make_shared<const Response>(
      Response{201, true, "A: 1\r\nA: 2\r\n", std::string("a\0\r\n\xff", 5)});
  return *transition(&claimed, CompleteRequest{fence_of(claimed), State::succeeded, response, 1h}, at).next;
}

// One record in each state, as they would be found elsewhere.
std::vector<Record> of_every_state(const std::function<ClaimRequest(const char*)>& request, Timestamp now) {
  std::vector<Record> records;
  const auto made = [&](const char* key) { return elsewhere(request(key), now); };
  ClaimRequest only_claimed = request("claimed");
  only_claimed.start = State::claimed;
  records.push_back(elsewhere(only_claimed, now));
  records.push_back(made("processing"));
  records.push_back(completed(made("succeeded"), now - 2s));
  const Record loser = made("failed");
  const CompleteRequest as_failed{fence_of(loser), State::failed, nullptr, {}};
  records.push_back(*transition(&loser, as_failed, now).next);
  const Record freed = made("released");
  records.push_back(*transition(&freed, ReleaseRequest{fence_of(freed), true}, now - 1s).next);
  const Record lost = made("unknown");
  const UnknownRequest seen{fence_of(lost), {UnknownCause::half_answer, 200, 17, false}};
  records.push_back(*transition(&lost, seen, now - 1s).next);
  ClaimRequest kept = request("expired");
  kept.receipt_ttl = 24h;
  Record receipt = completed(elsewhere(kept, now), now - 4s);
  receipt.ttl = 1s;
  receipt.expires_at = now - 3s;
  records.push_back(receipt_of(receipt));
  return records;
}

TEST_P(RecordAdoption, an_adopted_record_of_any_state_arrives_whole) {
  for (const Record& record : of_every_state([this](const char* key) { return request(key); }, now())) {
    SCOPED_TRACE(to_string(record.state));
    const Result<bool> taken = adopt(record);
    ASSERT_TRUE(taken) << taken.error().message;
    EXPECT_TRUE(*taken);
    const Result<Record> found = lookup(record.scope);
    ASSERT_TRUE(found) << found.error().message;
    expect_same(*found, record);
    EXPECT_TRUE(lookup(record.operation_id));
  }
  EXPECT_EQ(list({})->records.size(), 7u);
}

TEST_P(RecordAdoption, an_adopted_record_brings_its_reference_its_result_and_its_marks) {
  if (!store().keeps_marks()) GTEST_SKIP() << "this store keeps no marks";
  ClaimRequest wanted = request("k");
  RequestInfo info = *wanted.request;
  info.reference = "order 7";
  info.marks = {{MarkKind::unique, scope_of("", "", "unique", "fact", ""), 48h, true}};
  wanted.request = std::make_shared<const RequestInfo>(info);
  Record done = completed(elsewhere(wanted, now()), now());
  done.result = std::make_shared<const OperationResult>(OperationResult{"order", "7", ""});
  ASSERT_TRUE(*adopt(done));
  expect_same(*lookup(done.scope), done);
  // Another key for the same fact meets it here.
  ClaimRequest second = request("k2");
  second.request = wanted.request;
  const Result<ClaimReply> refused = claim(second);
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->granted);
  ASSERT_TRUE(refused->standing);
  EXPECT_EQ(refused->standing->operation_id, done.operation_id);
}

TEST_P(RecordAdoption, adopting_again_changes_nothing) {
  for (const Record& record : of_every_state([this](const char* key) { return request(key); }, now())) {
    SCOPED_TRACE(to_string(record.state));
    ASSERT_TRUE(*adopt(record));
    const Result<bool> again = adopt(record);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_FALSE(*again);
    expect_same(*lookup(record.scope), record);
  }
}

TEST_P(RecordAdoption, an_older_copy_never_undoes_what_happened_here) {
  const Record copy = elsewhere(request("k"), now());
  ASSERT_TRUE(*adopt(copy));
  ASSERT_TRUE(complete(copy, "here"));
  EXPECT_FALSE(*adopt(copy));
  EXPECT_EQ(lookup(copy.scope)->response->body, "here");
}

TEST_P(RecordAdoption, a_later_copy_replaces_an_earlier_one) {
  const Record claimed = elsewhere(request("k"), now());
  ASSERT_TRUE(*adopt(claimed));
  const Record done = completed(claimed, now());
  EXPECT_TRUE(*adopt(done));
  expect_same(*lookup(claimed.scope), done);
}

TEST_P(RecordAdoption, a_copy_leaves_a_key_alone_that_began_anew_here) {
  const Record here = must_claim(request("k"));
  Record copy = elsewhere(request("k", "body", "elsewhere!"), now());
  copy.epoch = 9;
  ASSERT_NE(copy.operation_id, here.operation_id);
  EXPECT_FALSE(*adopt(copy));
  EXPECT_EQ(lookup(here.scope)->owner, here.owner);
}

TEST_P(RecordAdoption, the_owner_of_an_adopted_record_goes_on_here) {
  const Record copy = elsewhere(request("k"), now());
  ASSERT_TRUE(*adopt(copy));
  EXPECT_FALSE(claim(request("k", "body", "another"))->granted);
  ASSERT_TRUE(complete(copy, "late"));
  EXPECT_EQ(lookup(copy.scope)->response->body, "late");
}

TEST_P(RecordAdoption, the_lease_of_an_adopted_record_ends_as_unknown) {  // I4
  const Record copy = elsewhere(request("k"), now());
  ASSERT_TRUE(*adopt(copy));
  advance(30s);
  EXPECT_EQ(lookup(copy.scope)->state, State::unknown);
}

TEST_P(RecordAdoption, an_adopted_record_goes_in_its_time_and_is_not_taken_after_it) {
  const Record done = completed(elsewhere(request("k"), now()), now());
  ASSERT_TRUE(*adopt(done));
  advance(2h);
  EXPECT_EQ(lookup(done.scope).error().code, Errc::not_found);
  EXPECT_FALSE(*adopt(done));
  purge_all();
  EXPECT_EQ(lookup(done.scope).error().code, Errc::not_found);
  EXPECT_TRUE(list({})->records.empty());
}

TEST_P(RecordAdoption, an_adopted_record_survives_a_restart) {
  const Record done = completed(elsewhere(request("k"), now()), now());
  ASSERT_TRUE(*adopt(done));
  if (!under_test_->restart()) GTEST_SKIP() << "this store keeps nothing";
  expect_same(*lookup(done.scope), done);
}

TEST_P(MarkAdoption, marks_with_an_end_are_listed_page_by_page_whatever_became_of_their_records) {
  std::set<Scope> wanted;
  for (int i = 0; i < 7; ++i) {
    const std::string name = "fact " + std::to_string(i);
    const Record mine = must_claim(marked("k" + std::to_string(i), {unique(name, 48h)}));
    if (i == 0) continue;  // its mark has no end yet
    ASSERT_TRUE(complete(mine, "done", State::succeeded, 1h));
    wanted.insert(unique(name).scope);
  }
  const Timestamp end = now() + 48h;
  advance(2h);
  purge_all();  // the records are gone, their facts are not
  for (const std::size_t page : {std::size_t{2}, std::size_t{1000}}) {
    std::set<Scope> found;
    for (const MarkEntry& entry : list_marks(page)) {
      found.insert(entry.scope);
      EXPECT_EQ(entry.until, end);
      EXPECT_EQ(entry.holder.kind, MarkKind::unique);
    }
    EXPECT_EQ(found, wanted) << page;
  }
  advance(47h);
  EXPECT_TRUE(list_marks().empty()) << "over";
}

TEST_P(MarkAdoption, a_fact_that_outlived_its_record_is_known_where_it_is_copied_to) {  // CONTRACT 5
  const MarkEntry copy = fact("order 1", 1, 48h);
  EXPECT_TRUE(*adopt_mark(copy, true)) << "asking";
  EXPECT_TRUE(list_marks().empty()) << "asking changes nothing";
  EXPECT_TRUE(*adopt_mark(copy));
  EXPECT_EQ(list_marks(), std::vector{copy});
  EXPECT_FALSE(*adopt_mark(copy, true));
  EXPECT_FALSE(*adopt_mark(copy)) << "it is there";
  const Result<ClaimReply> refused = claim(marked("k", {unique("order 1")}));
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_FALSE(refused->granted);
  ASSERT_TRUE(refused->standing);
  EXPECT_EQ(*refused->standing, copy.holder);
  advance(49h);
  EXPECT_FALSE(*adopt_mark(copy)) << "over";
  must_claim(marked("k", {unique("order 1")}));
}

TEST_P(MarkAdoption, a_copied_mark_gives_way_to_one_that_stands_and_to_a_later_end) {
  const Record running = must_claim(marked("k", {unique("order 1")}));
  EXPECT_FALSE(*adopt_mark(fact("order 1", 1, 48h))) << "another runs here";
  expect_refused(marked("other", {unique("order 1")}), running);
  ASSERT_TRUE(*adopt_mark(fact("order 2", 1, 48h)));
  EXPECT_FALSE(*adopt_mark(fact("order 2", 1, 47h))) << "it ends earlier";
  EXPECT_FALSE(*adopt_mark(fact("order 2", 2, 96h))) << "another's, and one stands";
  EXPECT_TRUE(*adopt_mark(fact("order 2", 1, 49h))) << "the same, kept longer";
  EXPECT_EQ(list_marks(), std::vector{fact("order 2", 1, 49h)});
  ASSERT_TRUE(release(running));
  EXPECT_TRUE(*adopt_mark(fact("order 1", 1, 48h))) << "nothing stands any more";
}

TEST_P(MarkAdoption, a_copied_mark_survives_a_restart) {
  const MarkEntry copy = fact("order 1", 1, 48h);
  ASSERT_TRUE(*adopt_mark(copy));
  if (!under_test_->restart()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_EQ(list_marks(), std::vector{copy});
}

TEST_P(MarkAdoption, a_copy_without_an_effect_frees_what_an_earlier_copy_held) {
  for (const State as : {State::failed, State::released}) {
    SCOPED_TRACE(to_string(as));
    const std::string name(to_string(as));
    const Record running = elsewhere(marked(name, {unique(name), suspect(name)}), now());
    ASSERT_TRUE(*adopt(running));
    ASSERT_FALSE(list_marks().empty()) << "the suspect one has an end";
    const Record ended =
        as == State::failed
            ? *transition(&running, CompleteRequest{fence_of(running), as, nullptr, {}}, now()).next
            : *transition(&running, ReleaseRequest{fence_of(running), false}, now()).next;
    ASSERT_TRUE(*adopt(ended));
    EXPECT_TRUE(list_marks().empty());
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MarkAdoption);

}  // namespace
}  // namespace onceward::testing
