// Against real servers, whose URLs the test run hands over (tests/servers/with): a single server and a
// cluster. The store decides by the test's clock instead of the server's; a key's own expiry follows the
// server's, so the test's clock begins ahead of it.
#include <cstdlib>
#include <stdexcept>

#include "base/system.hpp"
#include "conformance/store_conformance.hpp"
#include "stores/redis/redis_store.hpp"
#include "support/redis_servers.hpp"

namespace onceward::testing {
namespace {

using namespace std::chrono_literals;

class RedisUnderTest final : public StoreUnderTest {
 public:
  explicit RedisUnderTest(std::string url) : url_(std::move(url)) { open(); }
  ~RedisUnderTest() override {
    store_.reset();
    RedisServers(url_).flush_all();
  }
  Store& store() override { return *store_; }
  Timestamp now() override { return clock_.now(); }
  void advance(Duration by) override { clock_.advance(by); }
  bool restart() override {
    store_.reset();
    open();
    return true;
  }
  bool corrupt(const Scope& scope) override {
    return RedisServers(url_).command({"HSET", redis::key_of(prefix, scope), "state", "procexsing"}) == "0";
  }

 private:
  void open() {
    const std::string url = url_ + "?timeout=20s&prefix=" + prefix;
    Result<std::unique_ptr<redis::RedisStore>> opened = redis::open_redis({.url = url, .clock = &clock_});
    if (!opened) throw std::runtime_error(opened.error().message);
    store_ = std::move(*opened);
  }

  std::string url_;
  static constexpr const char* prefix = "a*b:";  // a pattern's character in it
  FakeClock clock_{SystemClock().now() + 24h};
  std::unique_ptr<redis::RedisStore> store_;
};

std::vector<StoreFactory> servers() {
  std::vector<StoreFactory> found;
  for (const auto& [name, variable] :
       {std::pair{"single", "ONCEWARD_TEST_REDIS"}, std::pair{"cluster", "ONCEWARD_TEST_REDIS_CLUSTER"}}) {
    const char* url = std::getenv(variable);
    if (url) found.push_back({name, [url] { return std::make_unique<RedisUnderTest>(url); }});
  }
  return found;
}

ONCEWARD_STORE_CONFORMANCE(Redis, ::testing::ValuesIn(servers()));

}  // namespace
}  // namespace onceward::testing
