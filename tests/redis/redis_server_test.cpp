#include <atomic>
#include <deque>
#include <latch>
#include <thread>

#include "base/hex.hpp"
#include "base/system.hpp"
#include "redis/redis_fixture.hpp"

namespace onceward::redis {
namespace {

using namespace std::chrono_literals;
using testing::eventually;

// "name:calls=12,…" in INFO commandstats, or any "name:12" of INFO.
std::uint64_t number_after(const std::string& text, const std::string& name) {
  const std::size_t at = text.find(name);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + name.size(), nullptr, 10);
}

class Counted {
 public:
  explicit Counted(std::string url) : server_(std::move(url)) { server_.command({"CONFIG", "RESETSTAT"}); }
  std::uint64_t scripts() { return number_after(stats(), "cmdstat_evalsha:calls="); }
  std::uint64_t sources() { return number_after(stats(), "cmdstat_eval:calls="); }

 private:
  std::string stats() { return server_.command({"INFO", "commandstats"}); }
  testing::RedisServers server_;
};

TEST_F(RedisServerTest, each_verb_is_one_round_trip) {
  const std::unique_ptr<RedisStore> store = open();
  testing::BlockingExecutor executor;
  const auto every_verb = [&](const std::string& name) {
    ClaimRequest wanted = request(name);
    wanted.start = State::claimed;
    const Record mine = claim(*store, wanted)->record;
    const Fence fence = fence_of(mine);
    const RenewRequest renewal{fence, 60s};
    const UnknownRequest lost{fence, {UnknownCause::timeout, 0, 1}};
    const ReleaseRequest given_back{fence, false};
    const ResolveRequest decided{wanted.scope, wanted.operation_id, 2, State::failed, nullptr};
    ASSERT_TRUE(executor.call<Record>([&](auto& r) { return store->dispatch(fence, r); }));
    ASSERT_TRUE(executor.call<Record>([&](auto& r) { return store->renew(renewal, r); }));
    ASSERT_TRUE(executor.call<Record>([&](auto& r) { return store->unknown(lost, r); }));
    ASSERT_TRUE(executor.call<Record>([&](auto& r) { return store->release(given_back, r); }));
    ASSERT_TRUE(claim(*store, request(name, "other"))->granted);
    ASSERT_TRUE(executor.call<Record>([&](auto& r) { return store->resolve(decided, r); }));
    ASSERT_TRUE(lookup(*store, wanted.scope));
    ASSERT_TRUE(executor.call<Record>([&](auto& r) { return store->lookup(wanted.operation_id, r); }));
    const Record again = claim(*store, request(name + "x"))->record;
    ASSERT_TRUE(complete(*store, again));
  };
  every_verb("first");  // the server learns the scripts
  Counted counted(server_url());
  every_verb("second");
  EXPECT_EQ(counted.scripts(), 11u);
  EXPECT_EQ(counted.sources(), 0u);
}

TEST_F(RedisServerTest, scripts_that_the_server_forgot_are_sent_whole_once) {
  const std::unique_ptr<RedisStore> store = open();
  const Record mine = claim(*store, request("k"))->record;
  ask({"SCRIPT", "FLUSH"});
  Counted counted(server_url());
  EXPECT_FALSE(claim(*store, request("k", "other"))->granted);
  EXPECT_FALSE(claim(*store, request("k", "third"))->granted);
  EXPECT_EQ(counted.sources(), 1u);
  EXPECT_TRUE(complete(*store, mine));
}

TEST_F(RedisServerTest, eight_threads_on_two_stores_race_for_the_same_keys_and_one_wins_each) {
  constexpr int keys = 250;
  const std::unique_ptr<RedisStore> stores[] = {open(), open()};
  std::vector<std::atomic<int>> granted(keys);
  std::atomic<int> failed{0};
  std::latch start(8);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        RedisStore& store = *stores[t % 2];
        start.arrive_and_wait();
        for (int i = 0; i < keys; ++i) {
          const auto reply = claim(store, request(std::to_string(i), "o" + std::to_string(t)));
          failed += !reply;
          if (!reply || !reply->granted) continue;
          ++granted[static_cast<std::size_t>(i)];
          failed += !complete(store, reply->record, std::to_string(t));
        }
      });
    }
  }
  EXPECT_EQ(failed, 0);
  for (int i = 0; i < keys; ++i) EXPECT_EQ(granted[static_cast<std::size_t>(i)].load(), 1) << i;
}

TEST_F(RedisServerTest, what_waits_together_goes_out_together) {
  constexpr int count = 64;
  const std::unique_ptr<RedisStore> store = open();
  (void)claim(*store, request("warm"));
  struct Waiting : Reply<ClaimReply> {
    explicit Waiting(Executor& executor, std::atomic<int>& done) : Reply(executor), left(done) {
      this->run = [](Completion* self) { --static_cast<Waiting*>(self)->left; };
    }
    std::atomic<int>& left;
  };
  std::atomic<int> left{count};
  testing::BlockingExecutor executor;
  std::deque<Waiting> replies;
  std::deque<ClaimRequest> requests;
  const std::uint64_t before = number_after(ask({"INFO", "stats"}), "total_reads_processed:");
  for (int i = 0; i < count; ++i)
    store->claim(requests.emplace_back(request("k" + std::to_string(i))),
                 replies.emplace_back(executor, left));
  while (left != 0) std::this_thread::yield();
  const std::uint64_t reads = number_after(ask({"INFO", "stats"}), "total_reads_processed:") - before;
  EXPECT_LT(reads, count / 2) << "each command was sent alone";
  for (Waiting& reply : replies) EXPECT_TRUE(reply.value && reply.value->granted);
}

TEST_F(RedisServerTest, only_what_is_over_expires_and_only_after_its_time) {
  const std::unique_ptr<RedisStore> store = open();
  const ClaimRequest wanted = request("k");
  const Record mine = claim(*store, wanted)->record;
  EXPECT_EQ(ask({"PTTL", key(wanted)}), "-1");  // I9
  ASSERT_TRUE(complete(*store, mine));
  const long long left = std::stoll(ask({"PTTL", key(wanted)}));
  EXPECT_GT(left, Duration(24h).count());
  EXPECT_LE(left, Duration(24h + 2min).count());
  // Released, it would go; claimed again, it stays.
  const ClaimRequest other = request("other");
  const Record released = claim(*store, other)->record;
  testing::BlockingExecutor executor;
  const ReleaseRequest given_back{fence_of(released), false};
  ASSERT_TRUE(executor.call<Record>([&](auto& r) { return store->release(given_back, r); }));
  EXPECT_NE(ask({"PTTL", key(other)}), "-1");
  ASSERT_TRUE(claim(*store, request("other", "next"))->granted);
  EXPECT_EQ(ask({"PTTL", key(other)}), "-1");
}

TEST_F(RedisServerTest, a_damaged_claim_is_unreadable_and_takes_no_outcome) {
  const std::unique_ptr<RedisStore> store = open();
  const std::vector<std::vector<std::string>> damages{
      {"HSET", "KEY", "v", "2"},
      {"HSET", "KEY", "created_at", "x"},
      {"HSET", "KEY", "ttl", "1e3"},
      {"HSET", "KEY", "receipt_ttl", "-5"},
      {"HSET", "KEY", "hold_until", "0x10"},
      {"HDEL", "KEY", "ttl"},
      {"HDEL", "KEY", "tenant"},
      {"HDEL", "KEY", "expires_at"},
  };
  for (std::size_t i = 0; i < damages.size(); ++i) {
    const ClaimRequest wanted = request("held" + std::to_string(i));
    const Record held = claim(*store, wanted)->record;
    std::vector<std::string> damage = damages[i];
    damage[1] = key(wanted);
    ask(damage);
    const std::string before = ask({"DUMP", key(wanted)});
    SCOPED_TRACE(damage[0] + " " + damage[2]);
    const Result<Record> done = complete(*store, held);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::unreadable) << done.error().message;  // I5
    EXPECT_EQ(ask({"DUMP", key(wanted)}), before);
    EXPECT_EQ(ask({"PTTL", key(wanted)}), "-1");
  }
}

// What the usual completion would leave standing is taken away by the other one.
TEST_F(RedisServerTest, an_outcome_takes_the_place_of_everything_that_a_claim_may_have_had) {
  const std::unique_ptr<RedisStore> store = open();
  for (const char* field : {"body_omitted", "earlier_too"}) {
    const ClaimRequest wanted = request(std::string("stray ") + field);
    const Record held = claim(*store, wanted)->record;
    ask({"HSET", key(wanted), field, "yes"});
    const Result<Record> done = complete(*store, held);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(ask({"HEXISTS", key(wanted), field}), "0") << field;
    EXPECT_EQ(lookup(*store, wanted.scope)->response->body, done->response->body);
  }
}

TEST_F(RedisServerTest, what_is_damaged_or_newer_or_foreign_is_unreadable_and_left_alone) {
  const std::unique_ptr<RedisStore> store = open();
  const std::vector<std::vector<std::string>> damages{
      {"HSET", "KEY", "v", "2"},
      {"HDEL", "KEY", "v"},
      {"HSET", "KEY", "state", "done"},
      {"HSET", "KEY", "epoch", "1.5"},
      {"HSET", "KEY", "epoch", "0"},
      {"HSET", "KEY", "lease_until", "soon"},
      {"HSET", "KEY", "expires_at", "0x10"},
      {"HSET", "KEY", "owner", "me"},
      {"HSET", "KEY", "operation_id", "1"},
      {"HSET", "KEY", "leaves", "0000000000000007 99 /a\n"},
      {"HSET", "KEY", "fingerprint_version", "0"},
      {"HSET", "KEY", "status", "many"},
      {"HDEL", "KEY", "scope"},
      {"HDEL", "KEY", "fingerprint"},
      {"HDEL", "KEY", "tenant"},
      {"HDEL", "KEY", "body"},
      {"SET", "KEY", "something else"},
  };
  for (std::size_t i = 0; i < damages.size(); ++i) {
    const ClaimRequest wanted = request("k" + std::to_string(i));
    ASSERT_TRUE(complete(*store, claim(*store, wanted)->record));
    std::vector<std::string> damage = damages[i];
    damage[1] = key(wanted);
    ask(damage);
    const std::string before = ask({"DUMP", key(wanted)});
    SCOPED_TRACE(damage[0] + " " + damage[2]);
    const Result<Record> found = lookup(*store, wanted.scope);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Errc::unreadable) << found.error().message;  // I5
    const ClaimRequest other = request("k" + std::to_string(i), "other");
    EXPECT_EQ(claim(*store, other).error().code, Errc::unreadable);
    EXPECT_EQ(ask({"DUMP", key(wanted)}), before);
  }
}

TEST_F(RedisServerTest, a_scope_whose_name_is_taken_is_refused_and_the_other_is_not_touched) {
  const std::unique_ptr<RedisStore> store = open();
  const ClaimRequest first = request("k");
  ClaimRequest second = request("k", "other");
  second.scope.data[31] ^= 1;  // the same 62 bits in front
  ASSERT_TRUE(claim(*store, first)->granted);
  EXPECT_EQ(claim(*store, second).error().code, Errc::refused);
  EXPECT_EQ(lookup(*store, second.scope).error().code, Errc::refused);
  EXPECT_EQ(lookup(*store, first.scope)->owner, first.owner);
}

TEST_F(RedisServerTest, a_sweep_drops_the_answers_of_receipts) {
  testing::FakeClock clock(SystemClock().now() + 24h);
  clock_ = &clock;
  const std::unique_ptr<RedisStore> store = open();
  ClaimRequest wanted = request("k");
  wanted.receipt_ttl = 24h * 90;
  ASSERT_TRUE(complete(*store, claim(*store, wanted)->record, std::string(5000, 'x')));
  EXPECT_EQ(purge(*store)->receipts, 0u);
  clock.advance(24h);
  EXPECT_EQ(lookup(*store, wanted.scope)->state, State::expired);
  EXPECT_EQ(ask({"HEXISTS", key(wanted), "body"}), "1");
  EXPECT_EQ(purge(*store)->receipts, 1u);
  EXPECT_EQ(ask({"HEXISTS", key(wanted), "body"}), "0");
  EXPECT_EQ(lookup(*store, wanted.scope)->state, State::expired);
  EXPECT_EQ(purge(*store)->receipts, 0u);
}

TEST_F(RedisServerTest, a_watch_is_woken_by_another_store) {
  const std::unique_ptr<RedisStore> here = open();
  const std::unique_ptr<RedisStore> there = open();
  const ClaimRequest wanted = request("k");
  const Record mine = claim(*there, wanted)->record;
  std::atomic<int> woken{0};
  const auto wait_for = [&](int count) {
    eventually([&] { return woken >= count; });
    return woken.load();
  };
  here->watch(wanted.scope, [&] { ++woken; });
  ASSERT_EQ(wait_for(1), 1) << "it may have changed before the subscription began";
  ASSERT_TRUE(complete(*there, mine));
  EXPECT_EQ(wait_for(2), 2);
  here->unwatch(wanted.scope);
  const int before = woken;
  ask({"PUBLISH", key(wanted), "changed"});
  here->watch(wanted.scope, [&] { ++woken; });  // what came in between is told
  EXPECT_GT(wait_for(before + 1), before);
  here->unwatch(wanted.scope);
}

TEST_F(RedisServerTest, the_servers_clock_decides_and_not_the_proxys) {
  const std::unique_ptr<RedisStore> store = open();
  ClaimRequest wanted = request("k");
  wanted.lease = 50ms;
  const Record mine = claim(*store, wanted)->record;
  EXPECT_EQ(mine.lease_until - mine.claimed_at, 50ms);
  const std::string time = ask({"EVAL", "return redis.call('TIME')[1]", "0"});
  EXPECT_NEAR(static_cast<double>(mine.claimed_at.time_since_epoch().count()) / 1000, std::stod(time), 60);
  eventually([&] { return lookup(*store, wanted.scope)->state != State::processing; });
  EXPECT_EQ(lookup(*store, wanted.scope)->state, State::unknown);  // I4
}

}  // namespace
}  // namespace onceward::redis
