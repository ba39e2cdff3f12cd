// What is PostgreSQL's own about marks and events: transactions that cross, plans of the relay's question,
// and a database that an older release has made.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "base/hex.hpp"
#include "base/sha256.hpp"
#include "conformance/postgres_server_link.hpp"
#include "core/scope.hpp"
#include "onceward/outbox_store.hpp"
#include "stores/postgres/migrations.hpp"
#include "stores/postgres/outbox.hpp"
#include "stores/postgres/postgres_store.hpp"
#include "stores/postgres/schema.hpp"
#include "support/fakes.hpp"

namespace onceward::testing {
namespace {

using namespace std::chrono_literals;
using postgres::PostgresStore;

ClaimRequest request_for(const std::string& key, std::vector<Mark> marks = {}) {
  ClaimRequest request;
  request.scope = scope_of("t", "c", "op", key, "");
  request.operation_id = make_operation_id(request.scope, Timestamp{}, 1);
  const auto nonce = sha256("owner/" + key);
  std::copy_n(nonce.begin(), request.owner.data.size(), request.owner.data.begin());
  request.fingerprint = {1, Digest{sha256("body")}};
  RequestInfo info{"t", "op", "hint", {}};
  info.marks = std::move(marks);
  request.request = std::make_shared<const RequestInfo>(std::move(info));
  request.lease = 30s;
  request.max_hold = 600s;
  request.ttl = 1h;
  return request;
}

Mark mark(MarkKind kind, int number) {
  const char* name = kind == MarkKind::unique ? "fact " : "likeness ";
  return {kind, Scope{sha256(name + std::to_string(number))}, 1h, true};
}

std::string hex_literal(const Scope& scope) { return "'\\x" + to_hex(scope.data) + "'"; }

template <class T, class Start>
Result<T> call(Start start) {
  BlockingExecutor executor;
  return executor.call<T>(start);
}

Result<ClaimReply> claim(Store& store, const ClaimRequest& request) {
  return call<ClaimReply>([&](auto& reply) { return store.claim(request, reply); });
}

class PostgresSchema : public ::testing::Test {
 protected:
  void SetUp() override {
    url_ = server_url("ONCEWARD_TEST_POSTGRES");
    ASSERT_TRUE(postgres::migrate_postgres(url_));
    link_ = std::make_unique<ServerLink>(url_);
    link_->run("TRUNCATE onceward.records, onceward.marks, onceward.outbox");
    store_ = open(url_);
  }
  void TearDown() override { link_->run("TRUNCATE onceward.records, onceward.marks, onceward.outbox"); }

  static std::unique_ptr<PostgresStore> open(const std::string& url) {
    Result<std::unique_ptr<PostgresStore>> opened = postgres::open_postgres({.url = url + "?timeout=30s"});
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
  }
  Result<Record> complete(const Record& mine, Events events) {
    CompleteRequest request{fence_of(mine), State::succeeded, response_, {}};
    request.events = std::make_shared<const Events>(std::move(events));
    return call<Record>([&](auto& reply) { return store_->complete(request, reply); });
  }
  std::vector<std::string> fetch(const Scope& scope) {
    const FetchEventsRequest request{outbox_partition_of(scope), 100};
    const auto events = call<std::vector<PendingEvent>>(
        [&](auto& reply) { return store_->outbox()->fetch_events(request, reply); });
    std::vector<std::string> ids;
    EXPECT_TRUE(events) << events.error().message;
    if (events)
      for (const PendingEvent& one : *events) ids.push_back(one.event.id);
    return ids;
  }
  Result<std::size_t> fail(const Fence& relay, const std::string& id, Duration retry_after) {
    const SettleEventsRequest request{relay, {}, {{id, "no", retry_after, false}}};
    return call<std::size_t>([&](auto& reply) { return store_->outbox()->settle_events(request, reply); });
  }
  // The plan of the relay's question, run.
  std::string explain(int partition) const {
    std::string sql = postgres::fetch_events_sql;
    for (const auto& [name, value] : {std::pair<std::string, std::string>{"$1", std::to_string(partition)},
                                      {"$2", "100"},
                                      {"$3", "NULL"}})
      sql.replace(sql.find(name), name.size(), value);
    return link_->run("SELECT onceward.test_explain($q$" + sql + "$q$)");
  }

  const std::shared_ptr<const Response> response_ =
      std::make_shared<const Response>(Response{201, false, "", "yes"});
  std::string url_;
  std::unique_ptr<ServerLink> link_;
  std::unique_ptr<PostgresStore> store_;
};

// Sixteen claims at once, of four facts and four likenesses in every combination, by two processes.
void race_for_marks(PostgresStore& one, PostgresStore& other, int round) {
  std::array<std::atomic<int>, 4> facts{};
  std::array<std::atomic<int>, 4> likenesses{};
  {
    std::vector<std::jthread> contenders;
    for (std::size_t i = 0; i < 16; ++i) {
      contenders.emplace_back([&, i] {
        const std::size_t fact = i % 4;
        const std::size_t likeness = i / 4;
        const ClaimRequest wanted =
            request_for(std::to_string(round) + "/" + std::to_string(i),
                        {mark(MarkKind::unique, 4 * round + static_cast<int>(fact)),
                         mark(MarkKind::suspect, 4 * round + static_cast<int>(likeness))});
        const Result<ClaimReply> reply = claim((fact + likeness) % 2 ? one : other, wanted);
        ASSERT_TRUE(reply) << reply.error().message;
        EXPECT_NE(reply->granted, reply->standing.has_value());
        if (!reply->granted) return;
        ++facts[fact];
        ++likenesses[likeness];
      });
    }
  }
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_LE(facts[i], 1);
    EXPECT_LE(likenesses[i], 1);
  }
}

TEST_F(PostgresSchema, claims_whose_marks_cross_are_granted_once_each_and_never_wait_for_each_other) {
  for (const char* variable : {"ONCEWARD_TEST_POSTGRES", "ONCEWARD_TEST_PGBOUNCER"}) {
    const std::string url = server_url(variable);
    const auto one = open(url);
    const auto other = open(url);
    for (int round = 0; round < 10; ++round) race_for_marks(*one, *other, round);
    const ServerLink link(url);
    EXPECT_GE(std::stoi(link.run("SELECT count(*) FROM onceward.records")), 10);
    EXPECT_EQ(
        link.run("SELECT count(*) FROM onceward.records r WHERE NOT EXISTS (SELECT 1 FROM onceward.marks m "
                 "WHERE m.mark = r.unique_mark AND m.scope = r.scope)"),
        "0");
    EXPECT_EQ(link.run("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"), "0");
    link.run("DELETE FROM onceward.records; DELETE FROM onceward.marks");
  }
}

TEST_F(PostgresSchema, an_event_that_commits_late_is_neither_lost_nor_does_it_hold_up_another_scope) {
  const ClaimRequest early = request_for("early");
  Scope late = early.scope;
  late.data[31] ^= 1;
  const ServerLink transaction(url_);
  transaction.run("BEGIN; SELECT onceward.put_events(" + hex_literal(late) +
                  ", ARRAY['late'], ARRAY['t'], ARRAY['text/plain'], ARRAY['x'::bytea], now())");
  ASSERT_TRUE(complete(claim(*store_, early)->record, {{"early", "t", "text/plain", "x"}}));
  EXPECT_EQ(fetch(late), std::vector<std::string>{"early"});
  transaction.run("COMMIT");
  EXPECT_EQ(fetch(late), (std::vector<std::string>{"late", "early"}));
}

TEST_F(PostgresSchema, an_event_written_while_the_one_before_it_is_put_off_waits_behind_it) {
  const Record mine = claim(*store_, request_for("k"))->record;
  ASSERT_TRUE(complete(mine, {{"first", "t", "text/plain", "x"}, {"second", "t", "text/plain", "x"}}));
  const Fence relay = fence_of(claim(*store_, request_for("relay"))->record);
  const ServerLink transaction(url_);
  transaction.run("BEGIN; SELECT onceward.put_events(" + hex_literal(mine.scope) +
                  ", ARRAY['third'], ARRAY['t'], ARRAY['text/plain'], ARRAY['x'::bytea], now())");
  Result<std::size_t> settled(Error{Errc::unavailable, ""});
  {
    std::jthread other([&] { settled = fail(relay, "first", 1h); });
    while (link_->run("SELECT count(*) FROM pg_locks WHERE NOT granted") == "0") std::this_thread::yield();
    transaction.run("COMMIT");
  }
  ASSERT_TRUE(settled) << settled.error().message;
  EXPECT_EQ(fetch(mine.scope), std::vector<std::string>{});
  EXPECT_EQ(link_->run("SELECT count(DISTINCT ready_at) FROM onceward.outbox"), "1");
}

// ONCEWARD_OUTBOX_ROWS says how many wait, and shows the plans.
TEST_F(PostgresSchema, the_relays_question_is_answered_from_an_index_however_much_waits) {
  const char* rows = std::getenv("ONCEWARD_OUTBOX_ROWS");
  link_->run(
      "CREATE OR REPLACE FUNCTION onceward.test_explain(query text) RETURNS text LANGUAGE plpgsql AS $$ "
      "DECLARE line text; plan text := ''; BEGIN "
      "FOR line IN EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) ' || query LOOP plan := plan "
      "|| line || E'\\n'; "
      "END LOOP; RETURN plan; END $$");
  link_->run(
      "INSERT INTO onceward.outbox (id, scope, type, content_type, payload, created_at, due_at, ready_at) "
      "SELECT i::text, s, 't', 'text/plain', 'x', now(), d, d FROM (SELECT i, s, now() + "
      "CASE WHEN get_byte(s, 0) & 15 = 5 OR i % 2 = 0 THEN interval '1 hour' ELSE '0' END AS d "
      "FROM (SELECT i, sha256(i::text::bytea) AS s FROM generate_series(1, " +
      std::string(rows ? rows : "30000") + ") i) e) e");
  link_->run("ANALYZE onceward.outbox");
  constexpr int half_are_due = 4, none_is_due = 5;
  for (const int partition : {half_are_due, none_is_due}) {
    const std::string plan = explain(partition);
    if (rows) std::cout << plan << '\n';
    EXPECT_NE(plan.find("Index Scan using outbox_ready"), std::string::npos) << plan;
    for (const char* bad : {"Seq Scan", "Sort", "Rows Removed by Filter"})
      EXPECT_EQ(plan.find(bad), std::string::npos) << plan;
    EXPECT_NE(plan.find(partition == half_are_due ? "rows=100" : "rows=0"), std::string::npos) << plan;
  }
  link_->run("DROP FUNCTION onceward.test_explain");
}

// As an older release would have left it and goes on using it.
TEST_F(PostgresSchema, a_database_of_version_1_is_brought_up_to_date_and_older_programs_go_on) {
  link_->run("DROP DATABASE IF EXISTS older");
  link_->run("CREATE DATABASE older");
  link_->run("DROP ROLE IF EXISTS older_app");
  link_->run("CREATE ROLE older_app LOGIN");
  const std::string url = url_.substr(0, url_.rfind('/')) + "/older";
  const ServerLink older(url);
  older.run(
      "CREATE SCHEMA onceward; CREATE TABLE onceward.schema_versions (version integer PRIMARY KEY, "
      "works_with integer NOT "
      "NULL, installed_at timestamptz NOT NULL DEFAULT now()); INSERT INTO onceward.schema_versions VALUES "
      "(1, 1)");
  for (const char* sql :
       {postgres::migration_1_tables, postgres::migration_1_verbs, postgres::migration_1_chores})
    older.run(sql);
  older.run(
      "GRANT USAGE ON SCHEMA onceward TO older_app; GRANT SELECT ON onceward.schema_versions TO older_app; "
      "GRANT SELECT, INSERT, UPDATE, DELETE ON onceward.records, onceward.watches TO older_app");
  older.run("SET ROLE older_app");
  const auto claim_as_1 = [&](const std::string& key) {
    const ClaimRequest wanted = request_for(key);
    return older.run("SELECT verdict FROM onceward.claim(" + hex_literal(wanted.scope) + ", '" +
                     to_string(wanted.operation_id) + "', '" + to_hex(wanted.owner.data) +
                     "', 'processing', 1, '\\x" + to_hex(wanted.fingerprint.digest.data) +
                     "', 't', 'op', 'hint', '', '', '', 30000, 600000, 3600000, 0, false, NULL)");
  };
  const auto complete_as_1 = [&](const std::string& key) {
    const ClaimRequest wanted = request_for(key);
    return older.run("SELECT verdict FROM onceward.complete(" + hex_literal(wanted.scope) + ", '" +
                     to_string(wanted.operation_id) + "', 1, '" + to_hex(wanted.owner.data) +
                     "', 'succeeded', NULL, 201, '', 'yes', false, NULL)");
  };
  EXPECT_EQ(claim_as_1("before"), "granted");
  EXPECT_EQ(claim_as_1("across"), "granted");
  EXPECT_EQ(complete_as_1("before"), "changed");

  const Result<std::string> migrated = postgres::migrate_postgres(url);
  ASSERT_TRUE(migrated) << migrated.error().message;
  EXPECT_NE(migrated->find("from version 1 to " + std::to_string(postgres::schema_version)),
            std::string::npos);

  const auto store = open(url.substr(0, url.find("//") + 2) + "older_app" + url.substr(url.find('@')));
  ClaimRequest again = request_for("before");
  again.owner.data[0] ^= 1;
  const Result<ClaimReply> replay = claim(*store, again);
  ASSERT_TRUE(replay) << replay.error().message;
  EXPECT_EQ(replay->record.response->body, "yes");
  ASSERT_TRUE(claim(*store, request_for("marked", {mark(MarkKind::unique, 1)}))->granted);
  EXPECT_EQ(claim(*store, request_for("other", {mark(MarkKind::unique, 1)}))->standing->operation_id,
            request_for("marked").operation_id);

  EXPECT_EQ(complete_as_1("across"), "changed");
  EXPECT_EQ(claim_as_1("after"), "granted");
  EXPECT_EQ(complete_as_1("after"), "changed");
  // An older program that resolves a marked record keeps its fact all the same.
  const ClaimRequest marked = request_for("marked");
  EXPECT_EQ(older.run("SELECT verdict FROM onceward.resolve(" + hex_literal(marked.scope) + ", '" +
                      to_string(marked.operation_id) + "', 1, 'succeeded', NULL, NULL, NULL, false, NULL)"),
            "changed");
  EXPECT_EQ(older.run("SELECT until > now() FROM onceward.marks"), "t");
  EXPECT_EQ(older.run("SELECT removed FROM onceward.purge(100, NULL)"), "0");
}

}  // namespace
}  // namespace onceward::testing
