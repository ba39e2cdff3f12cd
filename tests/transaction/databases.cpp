#include "transaction/databases.hpp"

#include <libpq-fe.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "base/system.hpp"
#include "conformance/postgres_server_link.hpp"
#include "onceward/sqlite.hpp"
#include "stores/postgres/postgres_ledger.hpp"
#include "stores/postgres/postgres_store.hpp"
#include "stores/sqlite/sqlite_ledger.hpp"
#include "support/temporary_folder.hpp"

namespace onceward::testing {
namespace {

using api::Command;
using api::Outcome;
using api::SqliteConnection;
using api::SqlValue;
using api::TransactionalCommands;

class SqliteCounter final : public Counter {
 public:
  explicit SqliteCounter(const std::string& path)
      : handle_(opened(path), &sqlite3_close), connection_(handle_.get()) {
    wait_at_most(std::chrono::seconds(20));
  }
  Outcome run(const TransactionalCommands& commands, const Command& command,
              const TransactionalCommands::Work& work) override {
    return commands.run(connection_, command, work);
  }
  Outcome consume(const TransactionalCommands& commands, const std::string& consumer,
                  const api::Message& message, const api::TransactionalCommands::Work& work) override {
    return commands.consume(connection_, consumer, message, work);
  }
  std::unique_ptr<Ledger> ledger() override { return sqlite::make_sqlite_ledger(connection_, clock_); }
  std::string sql(const std::string& text) override {
    const auto answer = connection_.run(text.c_str(), {});
    if (!answer) throw std::runtime_error(answer.error().message);
    if (answer->rows.empty()) return "";
    const SqlValue& value = answer->rows[0].at(0);
    if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
    if (const auto* string = std::get_if<std::string>(&value)) return *string;
    return "";
  }
  void wait_at_most(Duration limit) override {
    sqlite3_busy_timeout(handle_.get(), static_cast<int>(limit.count()));
  }
  std::string events() override {
    if (sql("SELECT count(*) FROM sqlite_master WHERE name = 'onceward_outbox'") == "0") return "";
    return sql(
        "SELECT group_concat(type, ' ') FROM "
        "(SELECT * FROM onceward_outbox ORDER BY sequence)");
  }
  int records() override {
    if (sql("SELECT count(*) FROM sqlite_master WHERE name = 'onceward_records'") == "0") return 0;
    return std::stoi(sql("SELECT count(*) FROM onceward_records"));
  }

 private:
  static sqlite3* opened(const std::string& path) {
    sqlite3* handle = nullptr;
    if (sqlite3_open(path.c_str(), &handle) != SQLITE_OK) throw std::runtime_error("sqlite3_open");
    return handle;
  }
  SystemClock clock_;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> handle_;
  SqliteConnection connection_;
};

class SqliteShop final : public Shop {
 public:
  SqliteShop() {
    SqliteCounter counter(path());
    counter.sql("PRAGMA journal_mode = WAL");
    counter.sql("PRAGMA synchronous = OFF");
    counter.sql("CREATE TABLE orders (item TEXT)");
  }
  std::unique_ptr<Counter> open() override { return std::make_unique<SqliteCounter>(path()); }

 private:
  std::string path() const { return folder_.path() + "/shop.db"; }
  TemporaryFolder folder_;
};

class PostgresCounter final : public Counter {
 public:
  explicit PostgresCounter(const std::string& url) : connection_(PQconnectdb(url.c_str()), &PQfinish) {
    if (PQstatus(connection_.get()) != CONNECTION_OK)
      throw std::runtime_error(PQerrorMessage(connection_.get()));
    PQsetNoticeProcessor(connection_.get(), [](void*, const char*) {}, nullptr);
  }
  Outcome run(const TransactionalCommands& commands, const Command& command,
              const TransactionalCommands::Work& work) override {
    return commands.run(connection_.get(), command, work);
  }
  Outcome consume(const TransactionalCommands& commands, const std::string& consumer,
                  const api::Message& message, const api::TransactionalCommands::Work& work) override {
    return commands.consume(connection_.get(), consumer, message, work);
  }
  std::unique_ptr<Ledger> ledger() override { return postgres::make_postgres_ledger(connection_.get()); }
  std::string sql(const std::string& text) override {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection_.get(), text.c_str()),
                                                               &PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
      throw std::runtime_error(PQerrorMessage(connection_.get()));
    return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
  }
  void wait_at_most(Duration limit) override { sql("SET lock_timeout = " + std::to_string(limit.count())); }
  std::string events() override {
    return sql(
        "SELECT string_agg(type, ' ' ORDER BY sequence) "
        "FROM onceward.outbox");
  }
  int records() override { return std::stoi(sql("SELECT count(*) FROM onceward.records")); }
  bool watch_messages(std::function<void()> moment) override {
    if (!moment) {
      PQuntrace(connection_.get());
      return true;
    }
    // libpq writes a line about every message to this file.
    moment_ = std::move(moment);
    cookie_io_functions_t functions{};
    functions.write = [](void* self, const char* text, std::size_t length) {
      const std::ptrdiff_t lines = std::count(text, text + length, '\n');
      for (std::ptrdiff_t i = 0; i < lines; ++i) static_cast<PostgresCounter*>(self)->moment_();
      return static_cast<ssize_t>(length);
    };
    FILE* file = ::fopencookie(this, "w", functions);
    std::setvbuf(file, nullptr, _IOLBF, 4096);
    PQtrace(connection_.get(), file);
    return true;
  }

 private:
  std::function<void()> moment_;
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

class PostgresShop final : public Shop {
 public:
  PostgresShop() : url_(server_url("ONCEWARD_TEST_POSTGRES")) {
    if (!postgres::migrate_postgres(url_)) throw std::runtime_error("no schema");
    PostgresCounter counter(url_);
    counter.sql("CREATE TABLE IF NOT EXISTS orders (item TEXT)");
    counter.sql("TRUNCATE orders, onceward.records, onceward.outbox, onceward.marks");
  }
  std::unique_ptr<Counter> open() override { return std::make_unique<PostgresCounter>(url_); }

 private:
  const std::string url_;
};

}  // namespace

std::unique_ptr<Shop> sqlite_shop() { return std::make_unique<SqliteShop>(); }
std::unique_ptr<Shop> postgres_shop() { return std::make_unique<PostgresShop>(); }

}  // namespace onceward::testing
