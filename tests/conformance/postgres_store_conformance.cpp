// Against a real server, directly and through a pooler of transactions; tests/servers/with names them.
#include <set>
#include <stdexcept>

#include "base/hex.hpp"
#include "conformance/postgres_server_link.hpp"
#include "conformance/store_conformance.hpp"
#include "stores/postgres/postgres_store.hpp"

namespace onceward::testing {
namespace {

void migrate_once(const std::string& url) {
  static std::set<std::string> migrated;
  if (!migrated.insert(url).second) return;
  if (const auto done = postgres::migrate_postgres(url); !done)
    throw std::runtime_error(done.error().message);
}

class PostgresUnderTest final : public StoreUnderTest {
 public:
  explicit PostgresUnderTest(std::string url) : url_(std::move(url)) {
    migrate_once(url_);
    ServerLink(url_).run(
        "DELETE FROM onceward.records; DELETE FROM onceward.marks; DELETE FROM onceward.outbox");
    open();
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
    ServerLink(url_).run("UPDATE onceward.records SET leaves = '\\xff' WHERE scope = '\\x" +
                         to_hex(scope.data) + "'");
    return true;
  }

 private:
  void open() {
    Result<std::unique_ptr<postgres::PostgresStore>> opened =
        postgres::open_postgres({url_ + "?connections=2&timeout=30s", &clock_});
    if (!opened) throw std::runtime_error(opened.error().message);
    store_ = std::move(*opened);
  }

  const std::string url_;
  FakeClock clock_;
  std::unique_ptr<postgres::PostgresStore> store_;
};

StoreFactory factory(const char* name, const char* variable) {
  return {name, [variable] { return std::make_unique<PostgresUnderTest>(server_url(variable)); }};
}

ONCEWARD_STORE_CONFORMANCE(Postgres, ::testing::Values(factory("direct", "ONCEWARD_TEST_POSTGRES"),
                                                       factory("pooled", "ONCEWARD_TEST_PGBOUNCER")));

}  // namespace
}  // namespace onceward::testing
