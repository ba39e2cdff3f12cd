// The connection to a store's server ends behind each byte of a claim's exchange, in both directions, by FIN
// and by RST. Whatever the store then says is true, and the owner who asks again finds its own claim (I10).
//
// Every byte is thousands of connections; an ordinary run takes a dense sample of them, and
// ONCEWARD_EVERY_BYTE=1 all (docs/testing.md).
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "base/sha256.hpp"
#include "conformance/postgres_server_link.hpp"
#include "core/scope.hpp"
#include "stores/postgres/postgres_store.hpp"
#include "stores/redis/redis_store.hpp"
#include "support/eventually.hpp"
#include "support/fakes.hpp"
#include "support/tcp_gate.hpp"

namespace onceward::testing {
namespace {

using namespace std::chrono_literals;
using Direction = TcpGate::Direction;

constexpr std::int64_t sampled_points = 80;

// The port in "scheme://[user@]host:port[/…]", and the same URL with another one.
std::uint16_t port_in(const std::string& url) {
  return static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
}
std::string with_port(const std::string& url, std::uint16_t port) {
  const std::size_t colon = url.rfind(':') + 1;
  const std::size_t end = std::min(url.find('/', colon), url.size());
  return url.substr(0, colon) + std::to_string(port) + url.substr(end);
}

// A store and whether every connection of it stands.
struct Opened {
  std::unique_ptr<Store> store;
  std::function<bool()> is_ready;
};

template <class S>
Opened opened(Result<std::unique_ptr<S>> made) {
  if (!made) throw std::runtime_error(made.error().message);
  S* const store = made->get();
  return {std::move(*made), [store] { return store->health().ready; }};
}

struct Kind {
  const char* name;
  const char* variable;
  Opened (*open)(const std::string& url);
  std::int64_t shortest;  // what a claim and its reply take at the least, or it is not one that is cut
  const char* reference;  // with one, Redis replies the whole record
};

Opened open_redis_at(const std::string& url) {
  return opened(redis::open_redis({.url = url + "?timeout=30s&connect_timeout=30s"}));
}
Opened open_postgres_at(const std::string& url) {
  return opened(postgres::open_postgres({.url = url + "?connections=1&listen=off&timeout=30s"}));
}

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class StoreCuts : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    const std::string url = server_url(GetParam().variable);
    gate_ = std::make_unique<TcpGate>(port_in(url));
    cut_ = GetParam().open(with_port(url, gate_->port()));
    direct_ = GetParam().open(url);
    for (const Opened* store : {&cut_, &direct_}) ASSERT_TRUE(eventually([&] { return store->is_ready(); }));
  }

  ClaimRequest request(std::int64_t number, char owner) {
    ClaimRequest wanted;
    const std::string key = run_ + std::to_string(number);
    wanted.scope = scope_of("t", "c", "op", key, "");
    wanted.operation_id = make_operation_id(wanted.scope, Timestamp(Duration(1)), 1);
    const auto nonce = sha256(key + owner);
    std::copy_n(nonce.begin(), wanted.owner.data.size(), wanted.owner.data.begin());
    wanted.fingerprint = {1, Digest{sha256("body")}};
    RequestInfo info{"t", "op", "hint", {{"/a", 7}}};
    info.reference = GetParam().reference;
    wanted.request = std::make_shared<const RequestInfo>(std::move(info));
    wanted.lease = 60s;
    wanted.max_hold = 600s;
    wanted.ttl = 1h;
    return wanted;
  }
  Result<ClaimReply> claim(Store& store, const ClaimRequest& wanted) {
    return executor_.call<ClaimReply>([&](auto& reply) { return store.claim(wanted, reply); });
  }
  Result<Record> lookup(Store& store, const Scope& scope) {
    return executor_.call<Record>([&](auto& reply) { return store.lookup(scope, reply); });
  }

  // How many bytes a claim takes in a direction, on a connection that stands.
  std::int64_t exchange_bytes(Direction direction) {
    EXPECT_TRUE(claim(*cut_.store, request(-1, 'o')));  // a script may have to be sent once
    const std::int64_t before = gate_->passed(direction);
    EXPECT_TRUE(claim(*cut_.store, request(-2, 'o')));
    return gate_->passed(direction) - before;
  }

  void cut_behind(Direction direction, std::int64_t byte, bool with_reset) {
    SCOPED_TRACE(std::string(with_reset ? "RST" : "FIN") + (direction == Direction::up ? " up" : " down") +
                 " behind byte " + std::to_string(byte));
    ASSERT_TRUE(eventually([&] { return cut_.is_ready(); })) << "service is not back";
    const ClaimRequest mine = request(next_++, 'o');
    gate_->cut_after(direction, byte, with_reset);
    const Result<ClaimReply> told = claim(*cut_.store, mine);
    ASSERT_TRUE(gate_->disarm()) << "the cut never came";
    const Result<Record> there = lookup(*direct_.store, mine.scope);
    ASSERT_TRUE(there || there.error().code == Errc::not_found) << there.error().message;
    if (told) {
      EXPECT_TRUE(told->granted);
      ASSERT_TRUE(there) << "granted, and it is not there";
    } else {
      EXPECT_TRUE(told.error().code == Errc::unavailable || !there)
          << "said to have written nothing: " << told.error().message;
    }
    Result<ClaimReply> again = claim(*cut_.store, mine);
    EXPECT_TRUE(eventually([&] {
      if (!again) again = claim(*cut_.store, mine);
      return again.has_value();
    }));
    ASSERT_TRUE(again);
    EXPECT_TRUE(again->granted) << "the owner competes with itself";
    EXPECT_EQ(again->record.epoch, 1u);
    const Result<ClaimReply> other = claim(*direct_.store, request(next_ - 1, 'x'));
    ASSERT_TRUE(other);
    EXPECT_FALSE(other->granted);
  }

  void sweep(Direction direction, bool with_reset) {
    const std::int64_t size = exchange_bytes(direction);
    ASSERT_GE(size, GetParam().shortest);
    const std::int64_t step =
        std::getenv("ONCEWARD_EVERY_BYTE") ? 1 : std::max<std::int64_t>(1, size / sampled_points);
    std::int64_t points = 0;
    for (std::int64_t byte = 1; byte <= size && !HasFailure(); byte += step, ++points)
      cut_behind(direction, byte, with_reset);
    if (!HasFailure()) cut_behind(direction, size, with_reset);
    RecordProperty("bytes", std::to_string(size));
    RecordProperty("points", std::to_string(points + 1));
    std::printf("%lld bytes, cut behind %lld of them\n", static_cast<long long>(size),
                static_cast<long long>(points + 1));
  }

  std::unique_ptr<TcpGate> gate_;
  Opened cut_;
  Opened direct_;
  BlockingExecutor executor_;
  const std::string run_ = std::to_string(std::chrono::steady_clock::now().time_since_epoch().count()) + "/";
  std::int64_t next_ = 0;
};

TEST_P(StoreCuts, on_the_way_to_the_server_by_fin) { sweep(Direction::up, false); }
TEST_P(StoreCuts, on_the_way_to_the_server_by_rst) { sweep(Direction::up, true); }
TEST_P(StoreCuts, on_the_way_back_by_fin) { sweep(Direction::down, false); }
TEST_P(StoreCuts, on_the_way_back_by_rst) { sweep(Direction::down, true); }

INSTANTIATE_TEST_SUITE_P(
    Servers, StoreCuts,
    ::testing::Values(Kind{"redis", "ONCEWARD_TEST_REDIS", open_redis_at, 33, ""},
                      Kind{"redis_whole", "ONCEWARD_TEST_REDIS", open_redis_at, 100, "r"},
                      Kind{"postgres", "ONCEWARD_TEST_POSTGRES", open_postgres_at, 100, ""}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace onceward::testing
