// What a PostgreSQL server, or the way to it, can do to the store: after each fault no verb has reported a
// false success (I10), and the store works again by itself.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/hex.hpp"
#include "base/sha256.hpp"
#include "conformance/postgres_server_link.hpp"
#include "core/scope.hpp"
#include "onceward/outbox_store.hpp"
#include "stores/postgres/postgres_store.hpp"
#include "support/eventually.hpp"
#include "support/fakes.hpp"

namespace onceward::testing {
namespace {

using namespace std::chrono_literals;
using postgres::open_postgres;
using postgres::PostgresStore;

ClaimRequest request_for(const std::string& key, const std::string& owner) {
  ClaimRequest request;
  request.scope = scope_of("t", "c", "op", key, "");
  request.operation_id = make_operation_id(request.scope, Timestamp{}, 1);
  const auto nonce = sha256(owner + "/" + key);
  std::copy_n(nonce.begin(), request.owner.data.size(), request.owner.data.begin());
  request.fingerprint = {1, Digest{sha256("body")}};
  request.request = std::make_shared<const RequestInfo>(RequestInfo{"t", "op", "hint", {}});
  request.lease = 30s;
  request.max_hold = 600s;
  request.ttl = 1h;
  return request;
}

class PostgresFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    direct_ = server_url("ONCEWARD_TEST_POSTGRES");
    ASSERT_TRUE(postgres::migrate_postgres(direct_));
    link_ = std::make_unique<ServerLink>(direct_);
    link_->run("DELETE FROM onceward.records");
  }

  static std::unique_ptr<PostgresStore> open(const std::string& url,
                                             const std::string& options = "?timeout=30s") {
    Result<std::unique_ptr<PostgresStore>> opened = open_postgres({.url = url + options});
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
  }
  static Result<ClaimReply> claim(Store& store, const ClaimRequest& request) {
    BlockingExecutor executor;
    return executor.call<ClaimReply>([&](auto& reply) { return store.claim(request, reply); });
  }
  static Result<Record> complete(Store& store, const Record& mine) {
    BlockingExecutor executor;
    auto response = std::make_shared<const Response>(Response{201, false, "A: b\r\n", "body"});
    const CompleteRequest request{fence_of(mine), State::succeeded, response, {}};
    return executor.call<Record>([&](auto& reply) { return store.complete(request, reply); });
  }
  static Result<Record> lookup(Store& store, const Scope& scope) {
    BlockingExecutor executor;
    return executor.call<Record>([&](auto& reply) { return store.lookup(scope, reply); });
  }
  static Result<StoreStats> stats(Store& store) {
    BlockingExecutor executor;
    return executor.call<StoreStats>([&](auto& reply) { return store.stats(reply); });
  }

  std::string direct_;
  std::unique_ptr<ServerLink> link_;
};

TEST_F(PostgresFaults, eight_threads_racing_on_the_same_keys_get_one_grant_each) {
  constexpr int keys = 100;
  constexpr int racers = 8;
  for (const char* variable : {"ONCEWARD_TEST_POSTGRES", "ONCEWARD_TEST_PGBOUNCER"}) {
    const std::string url = server_url(variable);
    ASSERT_TRUE(postgres::migrate_postgres(url));
    const auto store = open(url);
    std::array<std::atomic<int>, keys> grants{};
    std::atomic<int> errors{0};
    {
      std::vector<std::jthread> threads;
      for (int racer = 0; racer < racers; ++racer) {
        threads.emplace_back([&, racer] {
          for (int key = 0; key < keys; ++key) {
            const auto wanted =
                request_for(std::string(variable) + std::to_string(key), "r" + std::to_string(racer));
            const auto reply = claim(*store, wanted);
            if (!reply) ++errors;
            if (reply && reply->granted) ++grants[static_cast<std::size_t>(key)];
          }
        });
      }
    }
    EXPECT_EQ(errors, 0) << variable;
    for (int key = 0; key < keys; ++key) EXPECT_EQ(grants[static_cast<std::size_t>(key)], 1) << key;
  }
}

TEST_F(PostgresFaults, no_verb_reports_a_false_success_while_its_sessions_are_killed) {
  const auto store = open(direct_, "?connections=3&timeout=30s");
  std::atomic<bool> done{false};
  std::atomic<int> failed{0};
  std::jthread killer([&] {
    while (!done) {
      link_->run(
          "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
          "WHERE application_name = 'onceward' AND pid <> pg_backend_pid()");
      std::this_thread::sleep_for(10ms);  // the fault's rhythm, not a wait for anything
    }
  });
  struct Said {
    ClaimRequest request;
    std::optional<Errc> claim;  // nothing: granted
    bool completed = false;
  };
  std::vector<std::vector<Said>> said(4);
  const auto give_up = std::chrono::steady_clock::now() + patience;
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < said.size(); ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 60 || (failed == 0 && std::chrono::steady_clock::now() < give_up); ++i) {
          Said one{request_for("kill" + std::to_string(t) + "." + std::to_string(i), "o"), {}, false};
          const auto reply = claim(*store, one.request);
          if (!reply) {
            one.claim = reply.error().code;
            ++failed;
          } else {
            one.completed = complete(*store, reply->record).has_value();
          }
          said[t].push_back(std::move(one));
        }
      });
    }
  }
  done = true;
  killer.join();
  EXPECT_GT(failed, 0) << "the fault never struck";
  ASSERT_TRUE(eventually([&] { return stats(*store).has_value(); }));
  ASSERT_TRUE(eventually([&] { return lookup(*store, Scope{}).error().code == Errc::not_found; }));
  for (const auto& thread : said) {
    for (const Said& one : thread) {
      const Result<Record> found = lookup(*store, one.request.scope);
      if (!one.claim) ASSERT_TRUE(found) << "a claim was granted and is not there: " << found.error().message;
      if (one.completed) EXPECT_EQ(found->state, State::succeeded);
      if (one.claim == Errc::refused) EXPECT_FALSE(found) << "refused means that nothing was written";
    }
  }
}

TEST_F(PostgresFaults, a_session_that_is_killed_in_the_middle_of_a_verb_leaves_its_outcome_open) {  // I10
  const auto store = open(direct_);
  const auto wanted = request_for("middle", "o");
  ASSERT_TRUE(eventually([&] { return store->health().ready; }));
  ServerLink holder(direct_);
  holder.run("BEGIN");
  holder.run("LOCK TABLE onceward.records IN EXCLUSIVE MODE");
  std::optional<Errc> said;
  {
    std::jthread asker([&] {
      const auto reply = claim(*store, wanted);
      if (!reply) said = reply.error().code;
    });
    EXPECT_TRUE(eventually([&] {
      return link_->run(
                 "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                 "WHERE application_name = 'onceward' AND wait_event_type = 'Lock'") != "0";
    }));
  }
  holder.run("COMMIT");
  EXPECT_EQ(said, Errc::unavailable);
  EXPECT_TRUE(eventually([&] { return claim(*store, wanted).has_value(); }));
}

TEST_F(PostgresFaults, a_commit_that_fails_after_the_answer_is_no_success) {
  link_->run(
      "CREATE OR REPLACE FUNCTION pg_temp.no() RETURNS trigger LANGUAGE plpgsql AS "
      "$$ BEGIN RAISE EXCEPTION 'not today'; END $$");
  link_->run(
      "CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON onceward.records DEFERRABLE INITIALLY DEFERRED "
      "FOR EACH ROW EXECUTE FUNCTION pg_temp.no()");
  const auto store = open(direct_);
  const auto wanted = request_for("deferred", "o");
  const auto reply = claim(*store, wanted);
  link_->run("DROP TRIGGER at_commit ON onceward.records");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::refused) << reply.error().message;
  EXPECT_EQ(lookup(*store, wanted.scope).error().code, Errc::not_found);
  EXPECT_TRUE(claim(*store, wanted)->granted) << "the connection goes on";
}

TEST_F(PostgresFaults, a_verb_that_waits_too_long_ends_and_the_store_goes_on) {
  const auto wanted = request_for("locked", "o");
  const std::string of_scope = " WHERE scope = '\\x" + to_hex(wanted.scope.data) + "'";
  for (const char* variable : {"ONCEWARD_TEST_POSTGRES", "ONCEWARD_TEST_PGBOUNCER"}) {
    const std::string url = server_url(variable);
    ASSERT_TRUE(postgres::migrate_postgres(url));
    ServerLink holder(url);
    const auto store = open(url, "?timeout=3s");
    Result<ClaimReply> claimed = claim(*store, wanted);
    ASSERT_TRUE(eventually([&] { return claimed.has_value() || (claimed = claim(*store, wanted)); }));
    const Record mine = claimed->record;
    holder.run("BEGIN");
    holder.run("SELECT 1 FROM onceward.records" + of_scope + " FOR UPDATE");
    const Result<Record> blocked = complete(*store, mine);
    ASSERT_FALSE(blocked);
    // Directly the server ends it, and nothing was written; behind a pooler only our own clock does.
    const bool is_direct = std::string_view(variable) == "ONCEWARD_TEST_POSTGRES";
    EXPECT_EQ(blocked.error().code, is_direct ? Errc::refused : Errc::unavailable) << blocked.error().message;
    holder.run("COMMIT");
    EXPECT_TRUE(eventually([&] { return complete(*store, mine).has_value(); }));
  }
}

TEST_F(PostgresFaults, a_server_that_is_away_refuses_at_once_and_says_why) {
  const auto store = open("postgres://me:geheim@127.0.0.1:1/none");
  const auto reply = claim(*store, request_for("away", "o"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::refused);
  EXPECT_FALSE(store->health().ready);
  // Refused from the start, also before the first attempt has failed; why is known after it.
  EXPECT_TRUE(eventually([&] { return store->health().message.find("refused") != std::string::npos; }))
      << store->health().message;
  EXPECT_EQ((store->health().message + reply.error().message).find("geheim"), std::string::npos);
}

TEST_F(PostgresFaults, a_host_that_says_nothing_does_not_keep_the_next_one_from_being_tried) {
  // The kernel takes connections to it; nobody ever answers.
  const int silent = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  ASSERT_EQ(::bind(silent, reinterpret_cast<const sockaddr*>(&address), bytes), 0);
  ASSERT_EQ(::listen(silent, 100), 0);
  ASSERT_EQ(::getsockname(silent, reinterpret_cast<sockaddr*>(&address), &bytes), 0);
  const std::size_t at = direct_.find('@') + 1;
  const std::string url = direct_.substr(0, at) + "127.0.0.1:" + std::to_string(ntohs(address.sin_port)) +
                          "," + direct_.substr(at);
  const auto store = open(url, "?connect_timeout=3s&timeout=30s");
  const auto reply = claim(*store, request_for("silent", "o"));
  EXPECT_TRUE(reply) << reply.error().message;
  ::close(silent);
}

TEST_F(PostgresFaults, a_missing_schema_is_named_unless_the_store_may_make_it) {
  link_->run("DROP DATABASE IF EXISTS fresh");
  link_->run("CREATE DATABASE fresh");
  const std::string url = direct_.substr(0, direct_.rfind('/')) + "/fresh";
  {
    const auto store = open(url, "?migrate=off&timeout=30s");
    const auto reply = claim(*store, request_for("fresh", "o"));
    ASSERT_FALSE(reply);
    EXPECT_NE(reply.error().message.find("the schema is missing"), std::string::npos)
        << reply.error().message;
  }
  // Many at once: one makes it, the others wait for it.
  std::atomic<int> granted{0};
  {
    std::vector<std::jthread> openers;
    for (int i = 0; i < 4; ++i) {
      openers.emplace_back([&, i] {
        const auto store = open(url);
        const auto reply = claim(*store, request_for("fresh", "o" + std::to_string(i)));
        EXPECT_TRUE(reply) << reply.error().message;
        if (reply && reply->granted) ++granted;
      });
    }
  }
  EXPECT_EQ(granted, 1);
  ServerLink(url).run("INSERT INTO onceward.schema_versions (version, works_with) VALUES (99, 99)");
  const Result<std::string> migrated = postgres::migrate_postgres(url);
  ASSERT_FALSE(migrated);
  EXPECT_EQ(migrated.error().code, Errc::refused);
  EXPECT_NE(migrated.error().message.find("too new"), std::string::npos);
  const auto store = open(url);
  EXPECT_EQ(claim(*store, request_for("newer", "o")).error().code, Errc::refused);
}

TEST_F(PostgresFaults, a_record_of_a_newer_format_is_an_error_and_is_never_overwritten) {  // I5
  const auto store = open(direct_);
  const auto wanted = request_for("newer", "o");
  const Record mine = claim(*store, wanted)->record;
  link_->run("UPDATE onceward.records SET format = 2");
  EXPECT_EQ(lookup(*store, wanted.scope).error().code, Errc::unreadable);
  EXPECT_EQ(complete(*store, mine).error().code, Errc::unreadable);
  EXPECT_EQ(claim(*store, request_for("newer", "other")).error().code, Errc::unreadable);
  EXPECT_EQ(link_->run("SELECT state FROM onceward.records WHERE format = 2"), "processing");
}

TEST_F(PostgresFaults, an_event_that_cannot_be_read_holds_up_nothing_but_its_own_key) {
  link_->run("DELETE FROM onceward.outbox");
  const auto store = open(direct_);
  OutboxStore& outbox = *store->outbox();
  BlockingExecutor executor;
  const auto finish = [&](const ClaimRequest& wanted, Events events) {
    CompleteRequest done{fence_of(claim(*store, wanted)->record), State::succeeded, nullptr, {}};
    done.events = std::make_shared<const Events>(std::move(events));
    return executor.call<Record>([&](auto& reply) { return store->complete(done, reply); }).has_value();
  };
  const ClaimRequest mine = request_for("damaged", "o");
  const std::uint16_t partition = outbox_partition_of(mine.scope);
  ClaimRequest other = request_for("beside", "o");
  for (int i = 0; outbox_partition_of(other.scope) != partition; ++i)
    other = request_for("beside " + std::to_string(i), "o");
  ASSERT_TRUE(finish(mine, {{"1", "a", "", "x"}, {"2", "b", "", "x"}}));
  ASSERT_TRUE(finish(other, {{"3", "c", "", "x"}}));
  link_->run("UPDATE onceward.outbox SET type = 'a\\q' WHERE id = '1'");

  const auto fetched = [&](std::size_t limit) {
    const FetchEventsRequest wanted{partition, limit};
    const auto found = executor.call<std::vector<PendingEvent>>(
        [&](auto& reply) { return outbox.fetch_events(wanted, reply); });
    EXPECT_TRUE(found) << found.error().message;
    std::string ids;
    for (const PendingEvent& event : *found) ids += event.event.id + " ";
    return ids;
  };
  EXPECT_EQ(fetched(100), "3 ");
  EXPECT_TRUE(eventually([&] { return fetched(1) == "3 "; }))
      << "what cannot be read takes no place for long";
  const ListEventsRequest all{};
  const auto listed =
      executor.call<ListEventsReply>([&](auto& reply) { return outbox.list_events(all, reply); });
  ASSERT_TRUE(listed) << listed.error().message;
  ASSERT_EQ(listed->events.size(), 3u);
  EXPECT_EQ(listed->events[0].event.id, "1");
  EXPECT_EQ(listed->events[0].last_error, "it cannot be read");
  EXPECT_EQ(listed->events[2].event.type, "c");
  link_->run("UPDATE onceward.outbox SET type = 'a' WHERE id = '1'");
  EXPECT_EQ(fetched(100), "1 2 3 ");
  link_->run("DELETE FROM onceward.outbox");
}

TEST_F(PostgresFaults, a_claim_waits_for_the_disk_although_the_role_would_not) {  // I1
  link_->run(
      "CREATE OR REPLACE FUNCTION onceward.say() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "NEW.key_hint := current_setting('synchronous_commit'); RETURN NEW; END $$");
  link_->run(
      "CREATE OR REPLACE TRIGGER say BEFORE INSERT ON onceward.records FOR EACH ROW EXECUTE FUNCTION "
      "onceward.say()");
  link_->run("ALTER DATABASE postgres SET synchronous_commit = off");
  {
    const auto store = open(direct_);
    EXPECT_TRUE(claim(*store, request_for("sync", "o")));
    EXPECT_EQ(store->health().durability, "none: fsync is off") << "as this test server is";
  }
  link_->run("ALTER DATABASE postgres RESET synchronous_commit");
  EXPECT_EQ(link_->run("SELECT key_hint FROM onceward.records"), "on");
  link_->run("DROP FUNCTION onceward.say() CASCADE");
}

TEST_F(PostgresFaults, a_pooled_role_that_would_not_wait_for_the_disk_is_refused) {  // I1
  const std::string pooled = server_url("ONCEWARD_TEST_PGBOUNCER");
  const auto change = [&](const char* sql) {
    const ServerLink link(pooled);
    link.run(sql);
    // The pooler's sessions have the old setting until they end; this one ends last.
    EXPECT_ANY_THROW(
        link.run("SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity "
                 "WHERE datname IS NOT NULL ORDER BY pid = pg_backend_pid() OFFSET 0) AS all_of_them"));
  };
  change("ALTER ROLE postgres SET synchronous_commit = off");
  const auto store = open(pooled);
  std::string said;
  const bool refused = eventually([&] {
    const auto reply = claim(*store, request_for("sync", "o"));
    said = reply ? "granted" : reply.error().message;
    return !reply && reply.error().message.find("synchronous_commit is off") != std::string::npos;
  });
  change("ALTER ROLE postgres RESET synchronous_commit");
  EXPECT_TRUE(refused) << said;
}

TEST_F(PostgresFaults, whoever_waits_on_another_machine_is_woken) {
  const auto here = open(direct_);
  const auto there = open(direct_);
  const auto wanted = request_for("waited", "o");
  const Record mine = claim(*there, wanted)->record;
  ASSERT_TRUE(eventually([&] { return here->health().ready; }));
  std::atomic<int> woken{0};
  here->watch(wanted.scope, [&] { ++woken; });
  ASSERT_TRUE(eventually([&] { return link_->run("SELECT count(*) FROM onceward.watches") == "1"; }));
  EXPECT_EQ(woken, 0);
  ASSERT_TRUE(complete(*there, mine));
  EXPECT_TRUE(eventually([&] { return woken == 1; }));
  EXPECT_EQ(link_->run("SELECT count(*) FROM onceward.watches"), "0");
  // What already left wakes at once.
  here->watch(wanted.scope, [&] { ++woken; });
  EXPECT_TRUE(eventually([&] { return woken == 2; }));
  here->unwatch(wanted.scope);
}

TEST_F(PostgresFaults, every_verb_is_one_statement) {
  link_->run("CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
  const auto store = open(direct_, "?connections=1&listen=off");
  ASSERT_TRUE(eventually([&] { return store->health().ready; }));
  const auto calls = [&](auto verb) {
    link_->run("SELECT pg_stat_statements_reset()");
    verb();
    return link_->run(
        "SELECT sum(calls) FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%'");
  };
  const auto wanted = request_for("counted", "o");
  Record mine;
  EXPECT_EQ(calls([&] { mine = claim(*store, wanted)->record; }), "1");
  EXPECT_EQ(calls([&] { (void)claim(*store, request_for("counted", "other")); }), "1");
  EXPECT_EQ(calls([&] { (void)lookup(*store, wanted.scope); }), "1");
  EXPECT_EQ(calls([&] { (void)complete(*store, mine); }), "1");
  EXPECT_EQ(calls([&] { (void)complete(*store, mine); }), "1");
}

}  // namespace
}  // namespace onceward::testing
