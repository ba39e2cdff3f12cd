#include "stores/redis/redis_cache.hpp"

#include <atomic>
#include <thread>

#include "redis/redis_fixture.hpp"

namespace onceward::redis {
namespace {

using namespace std::chrono_literals;
using testing::eventually;

class RedisCacheTest : public RedisServerTest {
 protected:
  std::unique_ptr<OutcomeCache> open_cache(const std::string& url) {
    Result<std::unique_ptr<OutcomeCache>> opened = open_redis_cache(url);
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
  }
  static Result<std::string> get(OutcomeCache& cache, const Scope& scope) {
    testing::BlockingExecutor executor;
    return executor.call<std::string>([&](auto& reply) { return cache.get(scope, reply); });
  }
  const Scope scope_ = request("k").scope;
};

TEST_F(RedisCacheTest, keeps_bytes_for_their_life_and_forgets_them_when_told) {
  const std::unique_ptr<OutcomeCache> cache = open_cache(server_url() + "?timeout=30s");
  ASSERT_TRUE(eventually([&] { return cache->is_reachable(); }));
  EXPECT_EQ(get(*cache, scope_).error().code, Errc::not_found);
  const std::string bytes("\0\r\n\xff copy", 9);
  cache->put(scope_, bytes, 1h);
  ASSERT_TRUE(get(*cache, scope_));  // behind the put, on the same connection
  EXPECT_EQ(*get(*cache, scope_), bytes);
  testing::BlockingExecutor executor;
  ASSERT_TRUE(executor.call<Done>([&](auto& reply) { return cache->remove(scope_, reply); }));
  EXPECT_EQ(get(*cache, scope_).error().code, Errc::not_found);
  cache->put(scope_, bytes, 1ms);
  EXPECT_TRUE(eventually([&] { return !get(*cache, scope_); }));
}

TEST_F(RedisCacheTest, lives_beside_a_stores_records) {
  const std::unique_ptr<RedisStore> store = open();
  const std::unique_ptr<OutcomeCache> cache = open_cache(server_url() + "?timeout=30s");
  ASSERT_TRUE(eventually([&] { return cache->is_reachable(); }));
  cache->put(scope_, "copy", 1h);
  ASSERT_TRUE(get(*cache, scope_));
  testing::BlockingExecutor executor;
  const ListRequest all;
  EXPECT_TRUE(
      executor.call<ListReply>([&](auto& reply) { return store->list(all, reply); })->records.empty());
}

TEST_F(RedisCacheTest, announces_to_whoever_watches) {
  const std::unique_ptr<OutcomeCache> here = open_cache(server_url() + "?timeout=30s");
  const std::unique_ptr<OutcomeCache> there = open_cache(server_url() + "?timeout=30s");
  ASSERT_TRUE(eventually([&] { return here->is_reachable() && there->is_reachable(); }));
  std::atomic<int> woken{0};
  here->watch(scope_, [&] { ++woken; });
  ASSERT_TRUE(eventually([&] { return woken == 1; }));
  there->announce(scope_);
  EXPECT_TRUE(eventually([&] { return woken == 2; }));
  here->unwatch(scope_);
}

TEST_F(RedisCacheTest, may_be_evicted_where_records_may_not) {
  ask({"CONFIG", "SET", "maxmemory", "100mb"});
  ask({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  const std::string url = server_url();
  const Result<std::unique_ptr<RedisStore>> store = open_redis({.url = url});
  const std::unique_ptr<OutcomeCache> cache = open_cache(url);
  EXPECT_TRUE(eventually([&] { return cache->is_reachable(); }));
  ask({"CONFIG", "SET", "maxmemory", "0"});
  ask({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Errc::invalid);
}

TEST_F(RedisCacheTest, without_a_server_it_says_so_and_nobody_waits) {
  const std::unique_ptr<OutcomeCache> cache = open_cache("redis://127.0.0.1:1");
  EXPECT_FALSE(get(*cache, scope_));
  EXPECT_FALSE(cache->is_reachable());
  cache->put(scope_, "copy", 1h);
  cache->announce(scope_);
}

}  // namespace
}  // namespace onceward::redis
