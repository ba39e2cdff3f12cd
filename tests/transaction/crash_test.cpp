// A process that dies before or after any statement of a command leaves everything or nothing, and the retry
// is right. The dying one is a real process with a connection of its own.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system.hpp"
#include "engine/claim_request.hpp"
#include "library/command.hpp"
#include "library/compile_operation.hpp"
#include "library/transaction_run.hpp"
#include "onceward/sqlite.hpp"
#include "stores/sqlite/sqlite_ledger.hpp"
#include "support/temporary_folder.hpp"
#include "transaction/databases.hpp"

namespace onceward::testing {
namespace {

using api::Command;
using api::Effect;
using api::Outcome;
using api::Ticket;
using Kind = Outcome::Kind;

constexpr int died = 9;

// Counts moments, and ends the process at one of them, as a crash does: nothing is closed or rolled back.
class Fate {
 public:
  explicit Fate(int dies_at) : dies_at_(dies_at) {}
  void moment() {
    if (++moments_ == dies_at_) ::_exit(died);
  }

 private:
  const int dies_at_;
  int moments_ = 0;
};

class MortalLedger final : public Ledger {
 public:
  MortalLedger(std::unique_ptr<Ledger> inner, Fate& fate) : inner_(std::move(inner)), fate_(fate) {}
  Result<Done> enter() override {
    return around([&] { return inner_->enter(); });
  }
  Result<ClaimReply> claim(const ClaimRequest& request, Duration wait) override {
    return around([&] { return inner_->claim(request, wait); });
  }
  Result<Record> complete(const CompleteRequest& request) override {
    return around([&] { return inner_->complete(request); });
  }
  Result<Done> leave() override {
    return around([&] { return inner_->leave(); });
  }
  void undo() override { inner_->undo(); }

 private:
  template <class Step>
  std::invoke_result_t<Step> around(Step step) {
    fate_.moment();
    auto result = step();
    fate_.moment();
    return result;
  }
  const std::unique_ptr<Ledger> inner_;
  Fate& fate_;
};

// Every single statement.
class MortalConnection final : public api::SqlConnection {
 public:
  MortalConnection(sqlite3* handle, Fate& fate) : inner_(handle), fate_(fate) {}
  bool in_transaction() const override { return inner_.in_transaction(); }
  Result<Answer> run(const char* sql, const std::vector<api::SqlValue>& values) override {
    fate_.moment();
    Result<Answer> answer = inner_.run(sql, values);
    fate_.moment();
    return answer;
  }

 private:
  api::SqliteConnection inner_;
  Fate& fate_;
};

Outcome order(Counter& counter, std::unique_ptr<Ledger> ledger, const std::string& key, Fate& fate) {
  SystemClock clock;
  SystemRandom random;
  const Operation operation = *api::compile_operation("", "", Policy{});
  const onceward::Command command =
      api::command_for(api::subject_of(operation, {.operation = "orders.create", .key = key}), "", "");
  const ClaimRequest claim = claim_request(command, State::processing, clock.now(), random);
  MortalLedger mortal(std::move(ledger), fate);
  return api::run_in_transaction(mortal, command, claim, 1000, clock, [&](const Ticket&) {
    fate.moment();
    counter.order(key);
    fate.moment();
    return Effect::succeeded("ordered").emit(key, "{}");
  });
}

// Whether a process that does this died of it.
template <class Action>
bool dies(Action action) {
  const pid_t child = ::fork();
  if (child == 0) {
    action();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_TRUE(WEXITSTATUS(status) == died || WEXITSTATUS(status) == 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == died;
}

int count(const std::string& text, const std::string& what) {
  int found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

struct Crashes {
  int nothing = 0;
  int everything = 0;
};

// Dies at every moment in turn, each time with a new key. The database has nothing of it, or all of it.
Crashes die_everywhere(Shop& shop, const std::function<void(Counter&, const std::string& key, Fate&)>& run) {
  Crashes crashes;
  int expected = 0;
  for (int moment = 1;; ++moment) {
    const std::string key = "key-" + std::to_string(moment) + ".";
    const bool was_killed = dies([&] {
      const std::unique_ptr<Counter> counter = shop.open();
      Fate fate(moment);
      run(*counter, key, fate);
    });
    const std::unique_ptr<Counter> counter = shop.open();
    const int effects = counter->orders() - expected;
    EXPECT_TRUE(effects == 0 || effects == 1);
    EXPECT_EQ(counter->records(), expected + effects) << "moment " << moment;
    EXPECT_EQ(count(counter->events(), key), effects) << "moment " << moment;
    Fate immortal(-1);
    const Outcome retry = order(*counter, counter->ledger(), key, immortal);
    EXPECT_EQ(retry.kind, effects == 1 ? Kind::replayed : Kind::executed) << "moment " << moment;
    EXPECT_EQ(retry.value, "ordered");
    EXPECT_EQ(counter->orders(), ++expected);
    EXPECT_EQ(count(counter->events(), key), 1);
    if (!was_killed) return crashes;
    ++(effects == 1 ? crashes.everything : crashes.nothing);
  }
}

struct Database {
  const char* name;
  std::unique_ptr<Shop> (*open)();
};
void PrintTo(const Database& database, std::ostream* out) { *out << database.name; }

class Crash : public ::testing::TestWithParam<Database> {};
INSTANTIATE_TEST_SUITE_P(Both, Crash,
                         ::testing::Values(Database{"sqlite", &sqlite_shop},
                                           Database{"postgres", &postgres_shop}),
                         [](const auto& each) { return each.param.name; });

TEST_P(Crash, AtAnyStepOfACommandLeavesAllOrNothing) {
  const std::unique_ptr<Shop> shop = GetParam().open();
  const Crashes crashes = die_everywhere(*shop, [](Counter& counter, const std::string& key, Fate& fate) {
    order(counter, counter.ledger(), key, fate);
  });
  EXPECT_EQ(crashes.nothing, 9);     // before and after four steps and one statement of the work, less one
  EXPECT_EQ(crashes.everything, 1);  // after the commit
}

TEST_P(Crash, InsideTheCallersOwnTransactionLeavesAllOrNothing) {
  const std::unique_ptr<Shop> shop = GetParam().open();
  const Crashes crashes = die_everywhere(*shop, [](Counter& counter, const std::string& key, Fate& fate) {
    counter.sql("BEGIN");
    order(counter, counter.ledger(), key, fate);
    fate.moment();
    counter.sql("COMMIT");
    fate.moment();
  });
  EXPECT_EQ(crashes.nothing, 11);
  EXPECT_EQ(crashes.everything, 1);
}

// Killed before it could acknowledge, it gets the message again, and handles it if and only if it had not.
TEST_P(Crash, OfAConsumerAtAnyStepLeavesAMessageHandledOrNot) {
  const std::unique_ptr<Shop> shop = GetParam().open();
  const api::TransactionalCommands commands = std::move(*api::TransactionalCommands::make({}));
  const auto consume = [&](Counter& counter, const std::string& id, Fate& fate) {
    const Outcome outcome =
        counter.consume(commands, "billing", {.id = id, .payload = "{}"}, [&](const Ticket&) {
          fate.moment();
          counter.order(id);
          fate.moment();
          return Effect::succeeded("").emit(id, "{}");
        });
    fate.moment();
    return outcome.kind;
  };
  int handled = 0;
  for (int moment = 1; moment <= 3; ++moment) {
    const std::string id = "message-" + std::to_string(moment) + ".";
    EXPECT_TRUE(dies([&] {
      Fate fate(moment);
      consume(*shop->open(), id, fate);
    }));
    const std::unique_ptr<Counter> counter = shop->open();
    const bool was_handled = moment == 3;
    EXPECT_EQ(counter->orders() - handled, was_handled ? 1 : 0) << "moment " << moment;
    Fate immortal(-1);
    EXPECT_EQ(consume(*counter, id, immortal), was_handled ? Kind::replayed : Kind::executed);
    EXPECT_EQ(counter->orders(), ++handled);
    EXPECT_EQ(count(counter->events(), id), 1);
  }
}

TEST(PostgresCrash, AtEveryMessageLeavesAllOrNothing) {
  const std::unique_ptr<Shop> shop = postgres_shop();
  Fate immortal(-1);
  const Crashes crashes = die_everywhere(*shop, [&](Counter& counter, const std::string& key, Fate& fate) {
    ASSERT_TRUE(counter.watch_messages([&fate] { fate.moment(); }));
    order(counter, counter.ledger(), key, immortal);
    counter.watch_messages(nullptr);
  });
  EXPECT_GT(crashes.nothing, 30);
  EXPECT_GE(crashes.everything, 1);
}

TEST(SqliteCrash, AtEveryStatementLeavesAllOrNothing) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/shop.db";
  int last = 0;
  for (int moment = 1; last == 0; ++moment) {
    // A new database each time: making the tables is part of the transaction.
    std::filesystem::remove(path);
    const bool was_killed = dies([&] {
      sqlite3* handle = nullptr;
      if (sqlite3_open(path.c_str(), &handle) != SQLITE_OK) ::_exit(1);
      Fate fate(moment);
      MortalConnection connection(handle, fate);
      const api::TransactionalCommands commands = std::move(*api::TransactionalCommands::make({}));
      commands.run(connection, {.operation = "op", .key = "k"}, [&](const Ticket&) {
        (void)connection.run("CREATE TABLE effects (n INTEGER)", {});
        return Effect::succeeded("done").emit("happened", "1");
      });
    });
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
    api::SqliteConnection connection(handle);
    const auto tables = connection.run(
        "SELECT count(*) FROM sqlite_master WHERE name IN ('effects', 'onceward_records')", {});
    ASSERT_TRUE(tables);
    const std::int64_t found = std::get<std::int64_t>(tables->rows.at(0).at(0));
    EXPECT_TRUE(found == 0 || found == 2) << "moment " << moment;
    const api::TransactionalCommands commands = std::move(*api::TransactionalCommands::make({}));
    const Outcome retry = commands.run(connection, {.operation = "op", .key = "k"},
                                       [](const Ticket&) { return Effect::succeeded("again"); });
    EXPECT_EQ(retry.kind, found == 2 ? Kind::replayed : Kind::executed) << "moment " << moment;
    EXPECT_EQ(retry.value, found == 2 ? "done" : "again");
    sqlite3_close(handle);
    if (!was_killed) last = moment;
  }
  EXPECT_GT(last, 20);
}

}  // namespace
}  // namespace onceward::testing
