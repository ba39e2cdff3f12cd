// What is the memory store's own: its limits, and many threads at once. The rest is the conformance suite.
#include "stores/memory/memory_store.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "base/sha256.hpp"
#include "core/scope.hpp"
#include "support/fakes.hpp"

namespace onceward::testing {
namespace {

using namespace std::chrono_literals;

class MemoryStoreTest : public ::testing::Test {
 protected:
  ClaimRequest request(const std::string& key, std::uint8_t who = 1) {
    ClaimRequest request;
    request.scope = scope_of("t", "c", "op", key, "");
    request.operation_id = make_operation_id(request.scope, clock.now(), who);
    request.owner.data[0] = who;
    request.fingerprint = {1, Digest{sha256("body")}};
    request.request = std::make_shared<const RequestInfo>(RequestInfo{"t", "op", "", {}});
    request.lease = 30s;
    request.max_hold = 10min;
    request.ttl = 1h;
    return request;
  }
  static Result<ClaimReply> claim(Store& store, const ClaimRequest& request) {
    BlockingExecutor executor;
    return executor.call<ClaimReply>([&](auto& reply) { return store.claim(request, reply); });
  }
  static Result<Record> complete(Store& store, const Record& mine, const std::string& body = "done") {
    BlockingExecutor executor;
    const CompleteRequest request{fence_of(mine),
                                  State::succeeded,
                                  std::make_shared<const Response>(Response{200, false, "", body}),
                                  {}};
    return executor.call<Record>([&](auto& reply) { return store.complete(request, reply); });
  }
  static Result<PurgeReply> purge(Store& store) {
    BlockingExecutor executor;
    const PurgeRequest request;
    return executor.call<PurgeReply>([&](auto& reply) { return store.purge(request, reply); });
  }
  static StoreStats stats(Store& store) {
    BlockingExecutor executor;
    return *executor.call<StoreStats>([&](auto& reply) { return store.stats(reply); });
  }

  FakeClock clock;
};

TEST_F(MemoryStoreTest, when_it_is_full_it_refuses_new_keys_and_keeps_every_record) {
  const auto store = make_memory_store(clock, {.records_max = 10});
  std::vector<Record> kept;
  for (int i = 0; i < 10; ++i) kept.push_back(claim(*store, request("k" + std::to_string(i)))->record);
  for (int i = 10; i < 20; ++i) {
    const auto refused = claim(*store, request("k" + std::to_string(i)));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::refused);
  }
  for (const Record& record : kept) EXPECT_TRUE(complete(*store, record));
  EXPECT_EQ(stats(*store).records, 10u);
}

TEST_F(MemoryStoreTest, final_records_within_their_ttl_are_not_dropped_to_make_room) {
  const auto store = make_memory_store(clock, {.records_max = 3});
  for (const char* key : {"a", "b", "c"})
    ASSERT_TRUE(complete(*store, claim(*store, request(key))->record, key));
  EXPECT_FALSE(claim(*store, request("d")));
  for (const char* key : {"a", "b", "c"}) {
    const auto replay = claim(*store, request(key, 2));
    ASSERT_TRUE(replay);
    EXPECT_FALSE(replay->granted);
    EXPECT_EQ(replay->record.response->body, key);
  }
}

TEST_F(MemoryStoreTest, a_purge_makes_room_for_new_keys) {
  const auto store = make_memory_store(clock, {.records_max = 2});
  ASSERT_TRUE(complete(*store, claim(*store, request("a"))->record));
  ASSERT_TRUE(claim(*store, request("b")));
  ASSERT_FALSE(claim(*store, request("c")));
  clock.advance(2h);
  EXPECT_EQ(purge(*store)->removed, 1u);
  EXPECT_TRUE(claim(*store, request("c")));
  EXPECT_FALSE(claim(*store, request("d"))) << "b is open and stays (I9)";
}

TEST_F(MemoryStoreTest, a_full_store_still_takes_over_and_completes_what_it_has) {
  const auto store = make_memory_store(clock, {.records_max = 1});
  ASSERT_TRUE(complete(*store, claim(*store, request("a"))->record));
  clock.advance(2h);  // past its time, not yet purged: its place is its own
  const auto again = claim(*store, request("a", 2));
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->granted);
  EXPECT_EQ(again->record.epoch, 1u);
}

TEST_F(MemoryStoreTest, it_counts_bytes_and_refuses_new_keys_beyond_them) {
  const auto store = make_memory_store(clock, {.bytes_max = 64 * 4096});
  std::mt19937 random(3);
  int granted = 0;
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto reply = claim(*store, request("k" + std::to_string(i)));
    if (!reply) {
      ++refused;
      continue;
    }
    ++granted;
    std::string unlike_others(2000, '\0');
    for (char& byte : unlike_others) byte = static_cast<char>(random());
    ASSERT_TRUE(complete(*store, reply->record, unlike_others));
  }
  EXPECT_GT(granted, 64);
  EXPECT_GT(refused, 1000);
  clock.advance(2h);
  ASSERT_TRUE(purge(*store));
  EXPECT_EQ(stats(*store).bytes, 0u);
}

TEST_F(MemoryStoreTest, purge_lag_is_how_long_the_oldest_is_overdue) {
  const auto store = make_memory_store(clock);
  ASSERT_TRUE(complete(*store, claim(*store, request("a"))->record));
  EXPECT_EQ(stats(*store).purge_lag, 0s);
  clock.advance(1h + 7s);
  EXPECT_EQ(stats(*store).purge_lag, 7s);
  ASSERT_TRUE(purge(*store));
  EXPECT_EQ(stats(*store).purge_lag, 0s);
}

TEST_F(MemoryStoreTest, threads_that_fight_for_keys_get_one_grant_each_while_others_purge_and_list) {
  const auto store = make_memory_store(clock);
  constexpr int keys = 500;
  std::atomic<int> granted{0};
  std::atomic<bool> over{false};
  std::jthread janitor([&] {
    BlockingExecutor executor;
    for (int i = 0; i < 10'000 && !over; ++i) {
      (void)purge(*store);
      const ListRequest all;
      (void)executor.call<ListReply>([&](auto& reply) { return store->list(all, reply); });
    }
  });
  {
    std::vector<std::jthread> threads;
    for (std::uint8_t t = 1; t <= 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < keys; ++i) {
          const auto reply = claim(*store, request("k" + std::to_string(i), t));
          if (!reply || !reply->granted) continue;
          ++granted;
          (void)complete(*store, reply->record);
        }
      });
    }
  }
  over = true;
  EXPECT_EQ(granted, keys);
  EXPECT_EQ(stats(*store).records, static_cast<std::uint64_t>(keys));
  EXPECT_EQ(stats(*store).open_records, 0u);
}

}  // namespace
}  // namespace onceward::testing
