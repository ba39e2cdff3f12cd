// Events: written with the outcome, once; sent in order; settled by the relay that holds the partition.
// Stores without an outbox skip these.
#include <map>
#include <set>

#include "conformance/store_conformance.hpp"
#include "core/scope.hpp"

namespace onceward::testing {

using namespace std::chrono_literals;

void OutboxConformance::SetUp() {
  StoreConformance::SetUp();
  if (!store().outbox()) GTEST_SKIP() << "this store keeps no outbox";
}

std::string OutboxConformance::id(const Record& of, const std::string& type) {
  return to_string(of.operation_id) + ":" + type;
}

Event OutboxConformance::event(const Record& of, const std::string& type) {
  return {id(of, type), type, "application/json", "{\"of\":\"" + type + "\"}"};
}

Result<Record> OutboxConformance::complete_with(const Record& mine, const std::vector<std::string>& types,
                                                State as) {
  Events events;
  for (const std::string& type : types) events.push_back(event(mine, type));
  CompleteRequest request{fence_of(mine), as,
                          std::make_shared<const Response>(Response{201, false, "", "answer"}), std::nullopt};
  request.events = std::make_shared<const Events>(std::move(events));
  return executor_.call<Record>([&](auto& reply) { return store().complete(request, reply); });
}

Record OutboxConformance::completed(const std::string& key, const std::vector<std::string>& types) {
  const Record mine = must_claim(request(key));
  const Result<Record> done = complete_with(mine, types);
  EXPECT_TRUE(done) << done.error().message;
  return mine;
}

Record OutboxConformance::relay(const std::string& owner, const std::string& key) {
  ClaimRequest wanted = request(key, "relay", owner);
  wanted.scope = scope_of(std::nullopt, std::nullopt, "onceward.relay", key, "");
  wanted.operation_id = make_operation_id(wanted.scope, now(), 7);
  wanted.request = std::make_shared<const RequestInfo>(RequestInfo{"", "onceward.relay", "", {}});
  wanted.take_unknown = true;
  return must_claim(wanted);
}

std::vector<PendingEvent> OutboxConformance::fetch(const Record& of, std::size_t limit) {
  const FetchEventsRequest request{outbox_partition_of(of.scope), limit};
  const auto found = executor_.call<std::vector<PendingEvent>>(
      [&](auto& reply) { return outbox().fetch_events(request, reply); });
  EXPECT_TRUE(found) << found.error().message;
  return found ? *found : std::vector<PendingEvent>{};
}

std::string OutboxConformance::due(const Record& of, std::size_t limit) {
  std::string types;
  for (const PendingEvent& event : fetch(of, limit)) types += event.event.type + " ";
  return types;
}

Result<std::size_t> OutboxConformance::settle(const Record& relay, std::vector<std::string> delivered,
                                              std::vector<FailedEvent> failed) {
  const SettleEventsRequest request{fence_of(relay), std::move(delivered), std::move(failed)};
  return executor_.call<std::size_t>([&](auto& reply) { return outbox().settle_events(request, reply); });
}

ListEventsReply OutboxConformance::list_all(bool set_aside_only, std::size_t page) {
  ListEventsReply all;
  ListEventsRequest request{set_aside_only, page, ""};
  do {
    const auto found =
        executor_.call<ListEventsReply>([&](auto& reply) { return outbox().list_events(request, reply); });
    if (!found) {
      ADD_FAILURE() << found.error().message;
      return all;
    }
    EXPECT_LE(found->events.size(), page);
    all.events.insert(all.events.end(), found->events.begin(), found->events.end());
    request.cursor = found->cursor;
  } while (!request.cursor.empty());
  return all;
}

Result<std::size_t> OutboxConformance::retry(std::vector<std::string> ids) {
  const RetryEventsRequest request{std::move(ids)};
  return executor_.call<std::size_t>([&](auto& reply) { return outbox().retry_events(request, reply); });
}

OutboxStats OutboxConformance::outbox_stats() {
  return *executor_.call<OutboxStats>([&](auto& reply) { return outbox().outbox_stats(reply); });
}

namespace {

TEST_P(OutboxConformance, an_outcome_brings_its_events_whole_and_in_order) {
  const Record mine = must_claim(request("a"));
  EXPECT_EQ(due(mine), "") << "nothing before the outcome";
  ASSERT_TRUE(complete_with(mine, {"created", "paid"}));
  const std::vector<PendingEvent> events = fetch(mine);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].event, event(mine, "created"));
  EXPECT_EQ(events[1].event, event(mine, "paid"));
  EXPECT_LT(events[0].sequence, events[1].sequence);
  EXPECT_EQ(events[0].scope, mine.scope);
  EXPECT_EQ(events[0].created_at, now());
  EXPECT_EQ(events[0].attempts, 0u);
  EXPECT_FALSE(events[0].set_aside);
}

TEST_P(OutboxConformance, any_bytes_may_be_in_an_event) {
  const Record mine = must_claim(request("a"));
  std::string payload;
  for (int i = 0; i < 100'000; ++i) payload += static_cast<char>(i);
  CompleteRequest done{fence_of(mine), State::succeeded, nullptr, std::nullopt};
  done.events = std::make_shared<const Events>(Events{{id(mine, "ü 'quoted'"), "ü 'quoted'", "", payload}});
  ASSERT_TRUE(executor_.call<Record>([&](auto& reply) { return store().complete(done, reply); }));
  const std::vector<PendingEvent> events = fetch(mine);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].event, done.events->front());
}

TEST_P(OutboxConformance, an_outcome_repeated_writes_no_second_event) {
  const Record mine = completed("a", {"created"});
  ASSERT_TRUE(complete_with(mine, {"created"}));
  EXPECT_EQ(due(mine), "created ");
  ASSERT_TRUE(settle(relay(), {id(mine, "created")}));
  ASSERT_TRUE(complete_with(mine, {"created"}));
  EXPECT_EQ(due(mine), "") << "also when the first was sent already";
}

TEST_P(OutboxConformance, an_outcome_that_is_refused_writes_no_event) {
  const Record first = must_claim(request("a"));
  ASSERT_TRUE(release(first));
  const Record second = must_claim(request("a", "body", "other"));
  EXPECT_EQ(complete_with(first, {"stale"}).error().code, Errc::stale);
  EXPECT_EQ(due(first), "");
  ASSERT_TRUE(complete(second, "another answer"));
  EXPECT_EQ(complete_with(second, {"late"}).error().code, Errc::conflict);
  EXPECT_EQ(due(second), "");
}

TEST_P(OutboxConformance, a_resolution_brings_events_too) {
  const Record mine = must_claim(request("a"));
  ASSERT_TRUE(unknown(mine));
  ResolveRequest resolved{mine.scope, mine.operation_id, mine.epoch, State::succeeded, nullptr};
  resolved.events = std::make_shared<const Events>(Events{event(mine, "found")});
  ASSERT_TRUE(executor_.call<Record>([&](auto& reply) { return store().resolve(resolved, reply); }));
  EXPECT_EQ(due(mine), "found ");
  EXPECT_FALSE(executor_.call<Record>([&](auto& reply) { return store().resolve(resolved, reply); }));
  EXPECT_EQ(due(mine), "found ");
}

TEST_P(OutboxConformance, a_failure_can_bring_events) {
  const Record mine = must_claim(request("a"));
  ASSERT_TRUE(complete_with(mine, {"declined"}, State::failed));
  EXPECT_EQ(due(mine), "declined ");
}

TEST_P(OutboxConformance, a_delivered_event_is_gone_and_settling_it_again_is_harmless) {
  const Record mine = completed("a", {"one", "two"});
  const Record relaying = relay();
  EXPECT_EQ(*settle(relaying, {id(mine, "one")}), 1u);
  EXPECT_EQ(due(mine), "two ");
  EXPECT_EQ(*settle(relaying, {id(mine, "one"), "never was"}), 0u);
  EXPECT_EQ(*settle(relaying, {id(mine, "one"), id(mine, "two")}), 1u);
  EXPECT_EQ(outbox_stats().pending, 0u);
}

TEST_P(OutboxConformance, only_the_relay_that_holds_the_partition_settles) {
  const Record mine = completed("a", {"one"});
  const Record first = relay("first");
  advance(31s);
  EXPECT_EQ(settle(first, {id(mine, "one")}).error().code, Errc::stale) << "its lease has ended";
  const Record second = relay("second");
  EXPECT_EQ(settle(first, {id(mine, "one")}).error().code, Errc::stale);
  EXPECT_EQ(settle(first, {}, {{id(mine, "one"), "no", 1h, true}}).error().code, Errc::stale);
  EXPECT_EQ(due(mine), "one ") << "nothing has changed";
  Record never = second;
  never.scope.data[5] ^= 1;
  EXPECT_EQ(settle(never, {id(mine, "one")}).error().code, Errc::stale);
  EXPECT_TRUE(settle(second, {id(mine, "one")}));
  ASSERT_TRUE(release(second));
  EXPECT_EQ(settle(second, {}).error().code, Errc::stale) << "given up";
}

TEST_P(OutboxConformance, a_failed_event_waits_for_its_time_and_its_scope_waits_behind_it) {
  const Record mine = completed("a", {"one", "two"});
  const Record relaying = relay();
  ASSERT_TRUE(settle(relaying, {}, {{id(mine, "one"), "sink is down", 10s, false}}));
  EXPECT_EQ(due(mine), "");
  advance(10s - 1ms);
  EXPECT_EQ(due(mine), "");
  advance(1ms);
  EXPECT_EQ(due(mine), "one two ");
  const PendingEvent tried = fetch(mine).front();
  EXPECT_EQ(tried.attempts, 1u);
  EXPECT_EQ(tried.last_error, "sink is down");
  EXPECT_EQ(tried.due_at, now());
  ASSERT_TRUE(settle(relaying, {}, {{id(mine, "one"), "still down", 10s, false}}));
  EXPECT_EQ(list_all().events.front().attempts, 2u);
}

TEST_P(OutboxConformance, other_scopes_go_on_while_one_waits) {
  std::vector<Record> all;
  for (int i = 0; i < 40; ++i) all.push_back(completed("k" + std::to_string(i), {"one", "two"}));
  const Record relaying = relay();
  const Record& waiting = all[7];
  ASSERT_TRUE(settle(relaying, {}, {{id(waiting, "one"), "no", 1h, false}}));
  for (const Record& one : all) {
    std::string mine;
    for (const PendingEvent& pending : fetch(one, 1000))
      if (pending.scope == one.scope) mine += pending.event.type + " ";
    EXPECT_EQ(mine, one.scope == waiting.scope ? "" : "one two ");
  }
}

TEST_P(OutboxConformance, what_was_set_aside_holds_nothing_up_until_it_is_retried) {
  const Record mine = completed("a", {"one", "two"});
  const Record relaying = relay();
  ASSERT_TRUE(settle(relaying, {}, {{id(mine, "one"), "poison", 0s, true}}));
  EXPECT_EQ(due(mine), "two ");
  advance(24h * 30);
  purge_all();
  EXPECT_EQ(outbox_stats().set_aside, 1u) << "kept until an operator says so";
  const ListEventsReply aside = list_all(true);
  ASSERT_EQ(aside.events.size(), 1u);
  EXPECT_EQ(aside.events[0].event.id, id(mine, "one"));
  EXPECT_TRUE(aside.events[0].set_aside);
  EXPECT_EQ(aside.events[0].last_error, "poison");
  EXPECT_EQ(*retry({id(mine, "two")}), 0u) << "was not set aside";
  EXPECT_EQ(*retry({id(mine, "one")}), 1u);
  EXPECT_EQ(due(mine), "one two ");
  EXPECT_EQ(fetch(mine).front().attempts, 0u);
}

TEST_P(OutboxConformance, a_retry_without_ids_takes_everything_that_was_set_aside) {
  std::vector<FailedEvent> failed;
  for (int i = 0; i < 5; ++i)
    failed.push_back({id(completed("k" + std::to_string(i), {"one", "two"}), "one"), "no", 0s, true});
  ASSERT_TRUE(settle(relay(), {}, failed));
  EXPECT_EQ(outbox_stats().set_aside, 5u);
  EXPECT_EQ(outbox_stats().pending, 5u);
  EXPECT_EQ(*retry(), 5u);
  EXPECT_EQ(outbox_stats().set_aside, 0u);
  EXPECT_EQ(outbox_stats().pending, 10u);
}

TEST_P(OutboxConformance, a_limit_cuts_a_fetch_off_in_order) {
  const Record mine = completed("a", {"1", "2", "3", "4"});
  EXPECT_EQ(due(mine, 3), "1 2 3 ");
  EXPECT_EQ(due(mine, 1), "1 ");
}

TEST_P(OutboxConformance, an_event_is_fetched_from_the_partition_of_its_record_only) {
  std::map<std::uint16_t, std::size_t> expected;
  std::optional<Record> of[outbox_partitions];
  for (int i = 0; i < 60; ++i) {
    const Record mine = completed("k" + std::to_string(i), {"one"});
    of[outbox_partition_of(mine.scope)] = mine;
    ++expected[outbox_partition_of(mine.scope)];
  }
  for (const auto& record : of) {
    if (!record) continue;
    const std::uint16_t partition = outbox_partition_of(record->scope);
    EXPECT_EQ(fetch(*record, 1000).size(), expected[partition]) << partition;
  }
}

TEST_P(OutboxConformance, a_list_in_pages_has_everything_once) {
  std::set<std::string> expected;
  for (int i = 0; i < 25; ++i) {
    const Record mine = completed("k" + std::to_string(i), {"one", "two"});
    expected.insert({id(mine, "one"), id(mine, "two")});
  }
  std::set<std::string> listed;
  const ListEventsReply all = list_all(false, 7);
  for (const PendingEvent& pending : all.events) listed.insert(pending.event.id);
  EXPECT_EQ(listed, expected);
  EXPECT_EQ(all.events.size(), expected.size());
}

TEST_P(OutboxConformance, a_foreign_cursor_is_an_error) {
  const ListEventsRequest request{false, 10, "what is this?"};
  const auto found =
      executor_.call<ListEventsReply>([&](auto& reply) { return outbox().list_events(request, reply); });
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::invalid);
}

TEST_P(OutboxConformance, the_stats_count_what_waits) {
  EXPECT_EQ(outbox_stats().pending, 0u);
  EXPECT_EQ(outbox_stats().oldest_pending, Timestamp{});
  const Timestamp begun = now();
  const Record first = completed("a", {"one"});
  advance(5s);
  completed("b", {"one", "two"});
  EXPECT_EQ(outbox_stats().pending, 3u);
  EXPECT_EQ(outbox_stats().oldest_pending, begun);
  ASSERT_TRUE(settle(relay(), {id(first, "one")}));
  EXPECT_EQ(outbox_stats().pending, 2u);
  EXPECT_EQ(outbox_stats().oldest_pending, begun + 5s);
}

TEST_P(OutboxConformance, events_outlive_their_record) {
  const Record mine = completed("a", {"one"});
  advance(24h * 2);
  purge_all();
  EXPECT_FALSE(lookup(mine.scope));
  EXPECT_EQ(due(mine), "one ");
  ASSERT_TRUE(settle(relay(), {id(mine, "one")}));
  EXPECT_EQ(due(mine), "");
}

TEST_P(OutboxConformance, events_are_no_records) {
  completed("a", {"one", "two"});
  EXPECT_EQ(stats().records, 1u);
  EXPECT_EQ(list({})->records.size(), 1u);
}

TEST_P(OutboxConformance, a_restart_keeps_what_waits_and_nothing_that_was_sent) {
  const Record mine = completed("a", {"sent", "failed", "waiting"});
  const Record other = completed("b", {"poison"});
  const Record third = completed("c", {"retried"});
  const Record relaying = relay();
  ASSERT_TRUE(settle(relaying, {id(mine, "sent")},
                     {{id(mine, "failed"), "down", 10s, false},
                      {id(other, "poison"), "bad", 0s, true},
                      {id(third, "retried"), "bad", 0s, true}}));
  ASSERT_TRUE(retry({id(third, "retried")}));
  if (!under_test_->restart()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_EQ(outbox_stats().pending, 3u);
  EXPECT_EQ(outbox_stats().set_aside, 1u);
  std::map<std::string, PendingEvent> found;
  for (const PendingEvent& pending : list_all().events) found[pending.event.type] = pending;
  EXPECT_EQ(found["failed"].attempts, 1u);
  EXPECT_EQ(found["failed"].last_error, "down");
  EXPECT_EQ(found["failed"].event, event(mine, "failed"));
  EXPECT_EQ(found["poison"].last_error, "bad");
  EXPECT_TRUE(found["poison"].set_aside);
  EXPECT_EQ(found["retried"].attempts, 0u);
  EXPECT_FALSE(found["retried"].set_aside);
  advance(10s);
  std::string in_order;
  for (const PendingEvent& pending : fetch(mine))
    if (pending.scope == mine.scope) in_order += pending.event.type + " ";
  EXPECT_EQ(in_order, "failed waiting ");
  completed("d", {"new"});
  ASSERT_TRUE(under_test_->restart());
  EXPECT_EQ(outbox_stats().pending, 4u);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OutboxConformance);

}  // namespace
}  // namespace onceward::testing
