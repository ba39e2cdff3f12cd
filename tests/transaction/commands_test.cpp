// Commands inside a transaction of the caller's: everything together or nothing, once per key, in both
// databases.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <latch>
#include <stdexcept>
#include <thread>

#include "onceward/sqlite.hpp"
#include "support/eventually.hpp"
#include "transaction/databases.hpp"

namespace onceward::testing {
namespace {

using namespace std::chrono_literals;
using api::Command;
using api::Effect;
using api::Outcome;
using api::Ticket;
using api::TransactionalCommands;
using Kind = Outcome::Kind;

struct Database {
  const char* name;
  std::unique_ptr<Shop> (*open)();
};
void PrintTo(const Database& database, std::ostream* out) { *out << database.name; }

class Commands : public ::testing::TestWithParam<Database> {
 protected:
  static Command buy(const std::string& key, const std::string& payload = "book") {
    return {.operation = "orders.create", .key = key, .payload = payload};
  }
  // Orders a book and says so.
  Outcome order(Counter& counter, const Command& command) {
    return counter.run(commands_, command, [&](const Ticket& ticket) {
      counter.order(command.payload);
      return Effect::succeeded("ordered " + ticket.operation_id).emit("order.created", "{}");
    });
  }

  const TransactionalCommands commands_ = std::move(*TransactionalCommands::make({}));
  const std::unique_ptr<Shop> shop_ = GetParam().open();
  const std::unique_ptr<Counter> counter_ = shop_->open();
};

INSTANTIATE_TEST_SUITE_P(Both, Commands,
                         ::testing::Values(Database{"sqlite", &sqlite_shop},
                                           Database{"postgres", &postgres_shop}),
                         [](const auto& each) { return each.param.name; });

TEST_P(Commands, RunOnceAndReplay) {
  const Outcome first = order(*counter_, buy("k"));
  EXPECT_EQ(first.kind, Kind::executed) << first.message;
  EXPECT_EQ(first.value, "ordered " + first.operation_id);
  for (int i = 0; i < 3; ++i) {
    const Outcome again = order(*counter_, buy("k"));
    EXPECT_EQ(again.kind, Kind::replayed);
    EXPECT_EQ(again.value, first.value);
    EXPECT_FALSE(again.ran);
  }
  EXPECT_EQ(counter_->orders(), 1);
  EXPECT_EQ(counter_->events(), "order.created");
}

TEST_P(Commands, RefuseAnotherPayload) {
  order(*counter_, buy("k"));
  EXPECT_EQ(order(*counter_, buy("k", "pen")).kind, Kind::mismatch);
  EXPECT_EQ(counter_->orders(), 1);
}

TEST_P(Commands, RollBackWhatIsReleased) {
  const Outcome released = counter_->run(commands_, buy("k"), [&](const Ticket&) {
    counter_->order("book");
    return Effect::released("out of stock").emit("order.created", "{}");
  });
  EXPECT_EQ(released.kind, Kind::released);
  EXPECT_EQ(released.message, "out of stock");
  EXPECT_EQ(counter_->orders(), 0);
  EXPECT_EQ(counter_->records(), 0);
  EXPECT_EQ(counter_->events(), "");
  EXPECT_EQ(order(*counter_, buy("k", "pen")).kind, Kind::executed);  // nothing was bound
}

TEST_P(Commands, RollBackWhenTheWorkThrows) {
  EXPECT_THROW(counter_->run(commands_, buy("k"),
                             [&](const Ticket&) -> Effect {
                               counter_->order("book");
                               throw std::runtime_error("no");
                             }),
               std::runtime_error);
  EXPECT_EQ(counter_->orders(), 0);
  EXPECT_EQ(order(*counter_, buy("k")).kind, Kind::executed);
}

TEST_P(Commands, KeepADefiniteFailureWithItsRows) {
  const auto fail = [&](const Ticket&) {
    counter_->order("refused");
    return Effect::failed("no money");
  };
  EXPECT_TRUE(counter_->run(commands_, buy("k"), fail).failed);
  const Outcome again = counter_->run(commands_, buy("k"), fail);
  EXPECT_EQ(again.kind, Kind::replayed);
  EXPECT_TRUE(again.failed);
  EXPECT_EQ(again.value, "no money");
  EXPECT_EQ(counter_->orders(), 1);
}

TEST_P(Commands, RefuseWorkThatCannotSayAndEventsThatCannotBeKept) {
  const Outcome unsure =
      counter_->run(commands_, buy("k"), [&](const Ticket&) { return Effect::unknown("?"); });
  EXPECT_EQ(unsure.kind, Kind::invalid);
  const Outcome wrong = counter_->run(commands_, buy("k"), [&](const Ticket&) {
    counter_->order("book");
    return Effect::succeeded("").emit("no such type", "{}");
  });
  EXPECT_EQ(wrong.kind, Kind::invalid);
  EXPECT_EQ(counter_->orders(), 0);
  EXPECT_EQ(counter_->run(commands_, buy(""), nullptr).kind, Kind::invalid);
}

TEST_P(Commands, TellWhatTheirRulesSayAndWhatTheyCameTo) {
  api::TransactionOptions options;
  options.defaults.events = {{.type = "order.done"}};
  const TransactionalCommands telling = std::move(*TransactionalCommands::make(options));
  const auto work = [&](const Ticket&) {
    Effect effect = Effect::succeeded("{}");
    effect.result = {"order", "17", ""};
    return effect;
  };
  EXPECT_EQ(counter_->run(telling, buy("k"), work).result.resource_id, "17");
  EXPECT_EQ(counter_->run(telling, buy("k"), work).result.resource_id, "17");
  EXPECT_EQ(counter_->events(), "order.done");
}

TEST_P(Commands, KeepABusinessFactToOneKey) {
  api::TransactionOptions options;
  options.defaults.unique = UniquePolicy{.name = "order", .fields = {"/order"}};
  const TransactionalCommands strict = std::move(*TransactionalCommands::make(options));
  Effect::Kind kind = Effect::Kind::released;
  const auto run = [&](const std::string& key, const std::string& number) {
    Command command = buy(key, "{\"order\": " + number + "}");
    command.content_type = "application/json";
    return counter_->run(strict, command, [&](const Ticket&) {
      counter_->order("book");
      return Effect{kind, ""};
    });
  };
  EXPECT_EQ(run("a", "1").kind, Kind::released);  // rolled back, and the fact with it
  kind = Effect::Kind::succeeded;
  const Outcome first = run("b", "1");
  EXPECT_EQ(first.kind, Kind::executed) << first.message;
  const Outcome second = run("c", "1");
  EXPECT_EQ(second.kind, Kind::duplicate) << second.message;
  EXPECT_EQ(second.operation_id, first.operation_id);
  EXPECT_EQ(run("b", "1").kind, Kind::replayed);
  EXPECT_EQ(run("c", "2").kind, Kind::executed);  // a refusal has bound nothing
  kind = Effect::Kind::failed;
  EXPECT_EQ(run("d", "3").kind, Kind::executed);
  kind = Effect::Kind::succeeded;
  EXPECT_EQ(run("e", "3").kind, Kind::executed);  // a definite failure frees the fact
  EXPECT_EQ(counter_->orders(), 4);
}

TEST_P(Commands, JoinATransactionThatTheCallerHasBegun) {
  counter_->sql("BEGIN");
  counter_->order("before");
  EXPECT_EQ(order(*counter_, buy("k")).kind, Kind::executed);
  counter_->sql("ROLLBACK");
  EXPECT_EQ(counter_->orders(), 0);
  EXPECT_EQ(counter_->records(), 0);

  counter_->sql("BEGIN");
  counter_->order("before");
  const auto release = [&](const Ticket&) {
    counter_->order("undone");
    return Effect::released("");
  };
  EXPECT_EQ(counter_->run(commands_, buy("other"), release).kind, Kind::released);
  EXPECT_EQ(order(*counter_, buy("k")).kind, Kind::executed);
  EXPECT_EQ(order(*counter_, buy("k")).kind, Kind::replayed);  // its own, not committed yet
  counter_->sql("COMMIT");
  EXPECT_EQ(counter_->orders(), 2);
  EXPECT_EQ(order(*counter_, buy("k")).kind, Kind::replayed);
  EXPECT_EQ(counter_->events(), "order.created");
}

TEST_P(Commands, AtOnceHaveOneEffectAndOneAnswer) {
  constexpr int threads = 8;
  std::latch together(threads);
  std::vector<Outcome> outcomes(threads);
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      const std::unique_ptr<Counter> own = shop_->open();
      together.arrive_and_wait();
      Command command = buy("k");
      command.wait = 20s;
      outcomes[static_cast<std::size_t>(i)] = order(*own, command);
    });
  }
  for (std::thread& thread : running) thread.join();
  int executed = 0;
  for (const Outcome& outcome : outcomes) {
    EXPECT_TRUE(outcome.kind == Kind::executed || outcome.kind == Kind::replayed) << outcome.message;
    EXPECT_EQ(outcome.value, outcomes[0].value);
    executed += outcome.kind == Kind::executed;
  }
  EXPECT_EQ(executed, 1);
  EXPECT_EQ(counter_->orders(), 1);
}

TEST_P(Commands, AreInProgressWhileTheFirstDoesNotEndInTime) {
  const std::unique_ptr<Counter> second = shop_->open();
  second->wait_at_most(50ms);
  const Outcome first = counter_->run(commands_, buy("k"), [&](const Ticket&) {
    Command command = buy("k");
    command.wait = 50ms;
    EXPECT_EQ(order(*second, command).kind, Kind::in_progress);
    counter_->order("book");
    return Effect::succeeded("first");
  });
  EXPECT_EQ(first.kind, Kind::executed);
  EXPECT_EQ(order(*second, buy("k")).value, "first");
  EXPECT_EQ(counter_->orders(), 1);
}

TEST_P(Commands, ConsumeAMessageOncePerConsumer) {
  const auto handle = [&](const std::string& consumer) {
    return counter_->consume(commands_, consumer, {.id = "message-1", .payload = "{}"}, [&](const Ticket&) {
      counter_->order(consumer);
      return Effect::succeeded("");
    });
  };
  EXPECT_EQ(handle("billing").kind, Kind::executed);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(handle("billing").kind, Kind::replayed);
  EXPECT_EQ(handle("shipping").kind, Kind::executed);
  EXPECT_EQ(counter_->orders(), 2);
}

TEST_P(Commands, ThatEndedLongAgoRunAgain) {
  api::TransactionOptions options;
  options.defaults.ttl = 1ms;
  const TransactionalCommands forgetful = std::move(*TransactionalCommands::make(options));
  const auto quick = [&](const Ticket&) {
    counter_->order("book");
    return Effect::succeeded("");
  };
  EXPECT_EQ(counter_->run(forgetful, buy("k"), quick).kind, Kind::executed);
  EXPECT_TRUE(eventually([&] { return counter_->run(forgetful, buy("k"), quick).kind == Kind::executed; }));
  EXPECT_EQ(counter_->orders(), 2);
}

TEST(TransactionalCommandsTest, RefuseWrongOptions) {
  api::TransactionOptions options;
  options.operations = {{.name = "a"}, {.name = "a"}};
  EXPECT_FALSE(TransactionalCommands::make(options));
  options.operations = {{.name = "a", .policy = {.ttl = 0s}}};
  EXPECT_FALSE(TransactionalCommands::make(options));
}

// -- what only SQLite has ------------------------------------------------------------------------------

class Sqlite : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(sqlite3_open(":memory:", &handle_), SQLITE_OK);
    connection_ = std::make_unique<api::SqliteConnection>(handle_);
  }
  void TearDown() override { sqlite3_close(handle_); }
  Outcome emit(const std::string& key) {
    return commands_.run(*connection_, {.operation = "op", .key = key}, [&](const Ticket&) {
      return Effect::succeeded("").emit("a", key).emit("b", key, "text/plain");
    });
  }
  const TransactionalCommands commands_ = std::move(*TransactionalCommands::make({}));
  sqlite3* handle_ = nullptr;
  std::unique_ptr<api::SqliteConnection> connection_;
};

TEST_F(Sqlite, EventsAreDrainedInOrderAndStayUntilDelivered) {
  const std::string id = emit("1").operation_id;
  emit("2");
  std::vector<Event> seen;
  const auto take = [&](std::size_t most) {
    return [&seen, most](const Event& event) { return seen.size() < most && (seen.push_back(event), true); };
  };
  const Result<std::size_t> one = commands_.drain(*connection_, 100, take(1));
  ASSERT_TRUE(one);
  EXPECT_EQ(*one, 1u);
  EXPECT_EQ(seen[0].id, id + ":a");
  EXPECT_NE(seen[0].payload.find("\"data\":1"), std::string::npos) << seen[0].payload;
  EXPECT_EQ(*commands_.drain(*connection_, 100, take(100)), 3u);
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[1].id, id + ":b");
  EXPECT_EQ(seen[2].type, "a");
  EXPECT_NE(seen[2].payload.find("\"data\":2"), std::string::npos) << seen[2].payload;
  EXPECT_EQ(seen[3].type, "b");
  EXPECT_EQ(*commands_.drain(*connection_, 100, take(100)), 0u);
  EXPECT_EQ(emit("1").kind, Kind::replayed);
  EXPECT_EQ(*commands_.drain(*connection_, 100, take(100)), 0u);  // a replay emits nothing new
}

TEST_F(Sqlite, PurgeRemovesWhatIsPastItsTime) {
  api::TransactionOptions options;
  options.defaults.ttl = 1ms;
  const TransactionalCommands forgetful = std::move(*TransactionalCommands::make(options));
  forgetful.run(*connection_, {.operation = "op", .key = "k"},
                [](const Ticket&) { return Effect::succeeded(""); });
  emit("kept");
  EXPECT_TRUE(eventually([&] { return *commands_.purge(*connection_, 100) == 1; }));
  EXPECT_EQ(*commands_.purge(*connection_, 100), 0u);
}

TEST_F(Sqlite, ARecordThatCannotBeReadIsNotRunAgain) {
  emit("k");
  ASSERT_TRUE(connection_->run("UPDATE onceward_records SET record = x'00'", {}));
  const Outcome outcome = emit("k");
  EXPECT_EQ(outcome.kind, Kind::store_failed);
  EXPECT_FALSE(outcome.ran);
}

TEST_F(Sqlite, TablesOfANewerVersionAreLeftAlone) {
  emit("k");
  ASSERT_TRUE(connection_->run("INSERT INTO onceward_schema (version) VALUES (99)", {}));
  EXPECT_EQ(emit("other").kind, Kind::store_failed);
  EXPECT_FALSE(connection_->in_transaction());
}

}  // namespace
}  // namespace onceward::testing
