// What only a real server can show of marks and events: round trips, what expires, what is left over.
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/hex.hpp"
#include "core/adoption.hpp"
#include "onceward/outbox_store.hpp"
#include "redis/redis_fixture.hpp"

namespace onceward::redis {
namespace {

using namespace std::chrono_literals;

class RedisOutboxTest : public RedisServerTest {
 protected:
  static Mark unique(const std::string& fact) {
    return {MarkKind::unique, Scope{sha256("unique " + fact)}, 24h * 365, true};
  }
  static Mark suspect(const std::string& likeness) {
    return {MarkKind::suspect, Scope{sha256("suspect " + likeness)}, 10min, true};
  }
  static std::string mark_key(const Mark& mark) { return "onceward:mark:" + to_hex(mark.scope.data); }
  static ClaimRequest marked(const std::string& key, std::vector<Mark> marks) {
    ClaimRequest wanted = request(key);
    RequestInfo info = *wanted.request;
    info.marks = std::move(marks);
    wanted.request = std::make_shared<const RequestInfo>(std::move(info));
    return wanted;
  }
  static Result<Record> complete_with(Store& store, const Record& mine, Events events) {
    CompleteRequest done{fence_of(mine), State::succeeded, response("answer"), {}};
    done.events = std::make_shared<const Events>(std::move(events));
    testing::BlockingExecutor executor;
    return executor.call<Record>([&](auto& reply) { return store.complete(done, reply); });
  }
  static Result<Record> release(Store& store, const Record& mine) {
    const ReleaseRequest wanted{fence_of(mine), false};
    testing::BlockingExecutor executor;
    return executor.call<Record>([&](auto& reply) { return store.release(wanted, reply); });
  }
  static Result<Record> resolve_with(Store& store, const Record& record, Events events) {
    ResolveRequest wanted{record.scope, record.operation_id, record.epoch, State::succeeded, nullptr};
    wanted.events = std::make_shared<const Events>(std::move(events));
    testing::BlockingExecutor executor;
    return executor.call<Record>([&](auto& reply) { return store.resolve(wanted, reply); });
  }
  static std::vector<PendingEvent> fetch(Store& store, const Record& of, std::size_t limit = 100) {
    const FetchEventsRequest wanted{outbox_partition_of(of.scope), limit};
    testing::BlockingExecutor executor;
    const auto found = executor.call<std::vector<PendingEvent>>(
        [&](auto& reply) { return store.outbox()->fetch_events(wanted, reply); });
    EXPECT_TRUE(found) << found.error().message;
    return found ? *found : std::vector<PendingEvent>{};
  }
  static std::string outbox_set(const Record& of, const std::string& what) {
    return "onceward:outbox:" + std::to_string(outbox_partition_of(of.scope)) + ":" + what;
  }
  static Result<std::size_t> settle(Store& store, const SettleEventsRequest& wanted) {
    testing::BlockingExecutor executor;
    return executor.call<std::size_t>(
        [&](auto& reply) { return store.outbox()->settle_events(wanted, reply); });
  }
  static std::string fetched(Store& store, const Record& of, std::size_t limit = 100) {
    std::string ids;
    for (const PendingEvent& event : fetch(store, of, limit)) ids += event.event.id + " ";
    return ids;
  }
  static ListEventsReply list(Store& store, const ListEventsRequest& wanted) {
    testing::BlockingExecutor executor;
    const auto page = executor.call<ListEventsReply>(
        [&](auto& reply) { return store.outbox()->list_events(wanted, reply); });
    EXPECT_TRUE(page) << page.error().message;
    return page ? *page : ListEventsReply{};
  }
  // Another key whose events are in the same partition.
  static ClaimRequest beside(const ClaimRequest& one) {
    for (int i = 0;; ++i) {
      ClaimRequest other = request("beside " + std::to_string(i));
      if (outbox_partition_of(other.scope) == outbox_partition_of(one.scope)) return other;
    }
  }
  std::int64_t milliseconds_left(const std::string& key) { return std::stoll(ask({"PTTL", key})); }
  std::uint64_t scripts_run() {
    const std::string stats = ask({"INFO", "commandstats"});
    const std::string name = "cmdstat_evalsha:calls=";
    const std::size_t at = stats.find(name);
    return at == std::string::npos ? 0 : std::strtoull(stats.c_str() + at + name.size(), nullptr, 10);
  }
};

constexpr std::int64_t never = -1, absent = -2;

TEST_F(RedisOutboxTest, marks_and_events_cost_no_further_round_trip) {
  const std::unique_ptr<RedisStore> store = open();
  const auto run = [&](const std::string& name) {
    const Result<ClaimReply> mine = claim(*store, marked(name, {unique(name), suspect(name)}));
    ASSERT_TRUE(mine && mine->granted);
    ASSERT_TRUE(complete_with(*store, mine->record,
                              {{name + ":a", "a", "text/plain", "x"}, {name + ":b", "b", "", ""}}));
  };
  run("first");  // the server learns the scripts
  ask({"CONFIG", "RESETSTAT"});
  run("second");
  EXPECT_EQ(scripts_run(), 2u);
}

TEST_F(RedisOutboxTest, a_mark_expires_only_when_its_time_has_an_end_and_only_after_it) {
  const std::unique_ptr<RedisStore> store = open();
  const Record mine = claim(*store, marked("k", {unique("u"), suspect("s")}))->record;
  EXPECT_EQ(milliseconds_left(mark_key(unique("u"))), never);
  EXPECT_GT(milliseconds_left(mark_key(suspect("s"))), Duration(10min).count());
  ASSERT_TRUE(complete(*store, mine));
  EXPECT_GT(milliseconds_left(mark_key(unique("u"))), Duration(24h * 365).count());

  const Record other = claim(*store, marked("l", {unique("v"), suspect("t")}))->record;
  ASSERT_TRUE(release(*store, other));
  EXPECT_EQ(milliseconds_left(mark_key(unique("v"))), absent);
  EXPECT_EQ(milliseconds_left(mark_key(suspect("t"))), absent);

  // Another takes over a likeness with an end; its fact has none again.
  ask({"PEXPIREAT", mark_key(unique("u")), "99999999999999"});
  ask({"HSET", mark_key(unique("u")), "until", "1"});
  ASSERT_TRUE(claim(*store, marked("m", {unique("u")}))->granted);
  EXPECT_EQ(milliseconds_left(mark_key(unique("u"))), never);
}

TEST_F(RedisOutboxTest, a_mark_that_cannot_be_read_is_an_error_and_never_free) {  // I5
  const std::unique_ptr<RedisStore> store = open();
  ASSERT_TRUE(claim(*store, marked("k", {unique("u")}))->granted);
  ask({"HDEL", mark_key(unique("u")), "kind"});
  const Result<ClaimReply> reply = claim(*store, marked("l", {unique("u")}));
  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().message.find("cannot be read"), std::string::npos) << reply.error().message;
  EXPECT_EQ(ask({"EXISTS", key(request("l"))}), "0");
}

// The server undoes nothing of a script that fails: the record comes last, so that a repetition does the
// rest.
TEST_F(RedisOutboxTest, an_outcome_counts_only_when_its_marks_and_events_are_written) {
  using Finish = Result<Record> (*)(Store&, const Record&, Events);
  const std::unique_ptr<RedisStore> store = open();
  int run = 0;
  for (const Finish finish : {Finish(&complete_with), Finish(&resolve_with)}) {
    for (const std::string what : {"all", "ready"}) {
      const std::string name = "events " + std::to_string(++run);
      const Record mine = claim(*store, marked(name, {unique(name)}))->record;
      ask({"SET", outbox_set(mine, what), "no set"});
      EXPECT_FALSE(finish(*store, mine, {{name, "t", "", "x"}})) << what;
      EXPECT_EQ(lookup(*store, mine.scope)->state, State::processing) << what;
      EXPECT_EQ(milliseconds_left(mark_key(unique(name))), never) << what;
      ask({"DEL", outbox_set(mine, what)});
      ASSERT_TRUE(finish(*store, mine, {{name, "t", "", "x"}})) << what;
      ASSERT_EQ(fetch(*store, mine).size(), 1u) << what;
      EXPECT_EQ(fetch(*store, mine)[0].event.id, name);
      ask({"DEL", outbox_set(mine, "all"), outbox_set(mine, "ready")});
    }
    const std::string name = "marks " + std::to_string(++run);
    const Record mine = claim(*store, marked(name, {unique(name), suspect(name)}))->record;
    ask({"HDEL", mark_key(suspect(name)), "kind"});
    EXPECT_FALSE(finish(*store, mine, {{name, "t", "", "x"}}));
    EXPECT_EQ(lookup(*store, mine.scope)->state, State::processing);
    EXPECT_TRUE(fetch(*store, mine).empty());
    ask({"HSET", mark_key(suspect(name)), "kind", "suspect"});
    ASSERT_TRUE(finish(*store, mine, {{name, "t", "", "x"}}));
    EXPECT_EQ(fetch(*store, mine).size(), 1u);
    ask({"DEL", outbox_set(mine, "all"), outbox_set(mine, "ready")});
  }
}

TEST_F(RedisOutboxTest, a_record_is_released_only_with_all_its_marks) {
  const std::unique_ptr<RedisStore> store = open();
  const Record mine = claim(*store, marked("k", {unique("u"), suspect("s")}))->record;
  ask({"HDEL", mark_key(suspect("s")), "kind"});
  EXPECT_FALSE(release(*store, mine));
  EXPECT_EQ(lookup(*store, mine.scope)->state, State::processing);
  EXPECT_EQ(milliseconds_left(mark_key(unique("u"))), never);
  ask({"HSET", mark_key(suspect("s")), "kind", "suspect"});
  ASSERT_TRUE(release(*store, mine));
  EXPECT_EQ(milliseconds_left(mark_key(suspect("s"))), absent);
}

TEST_F(RedisOutboxTest, a_copy_whose_marks_cannot_be_read_leaves_the_record_that_stands) {
  const std::unique_ptr<RedisStore> store = open();
  const Record mine = claim(*store, marked("k", {unique("u")}))->record;
  Record later = mine;
  later.epoch += 1;
  ask({"HDEL", mark_key(unique("u")), "kind"});
  auto& adopter = dynamic_cast<Adopter&>(*store);
  testing::BlockingExecutor executor;
  EXPECT_FALSE(executor.call<bool>([&](auto& reply) { return adopter.adopt(later, reply); }));
  EXPECT_EQ(lookup(*store, mine.scope)->epoch, mine.epoch);
}

TEST_F(RedisOutboxTest, a_full_server_refuses_before_it_has_taken_a_mark) {
  const std::unique_ptr<RedisStore> store = open();
  ask({"CONFIG", "SET", "maxmemory", "1"});
  const Result<ClaimReply> reply = claim(*store, marked("k", {unique("u"), suspect("s")}));
  ask({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_FALSE(reply);
  EXPECT_EQ(ask({"DBSIZE"}), "0");
}

TEST_F(RedisOutboxTest, an_event_can_be_read_by_a_person_and_leaves_nothing_behind) {
  const std::unique_ptr<RedisStore> store = open();
  const Record relay = claim(*store, request("relay"))->record;
  const std::string before = ask({"DBSIZE"});
  const Record mine = claim(*store, request("k"))->record;
  ASSERT_TRUE(
      complete_with(*store, mine, {{"1", "a", "text/plain", "x"}, {"2", "b", "", ""}, {"3", "c", "", ""}}));
  EXPECT_EQ(ask({"HGET", "onceward:event:1", "type"}), "a");
  EXPECT_EQ(ask({"HGET", "onceward:event:1", "scope"}), to_hex(mine.scope.data));
  EXPECT_EQ(*settle(*store, {fence_of(relay), {"1"}, {{"2", "no", 1h, false}, {"3", "never", 0ms, true}}}),
            3u);
  EXPECT_EQ(ask({"HGET", "onceward:event:3", "last_error"}), "never");
  EXPECT_EQ(*settle(*store, {fence_of(relay), {"2", "3"}, {}}), 2u);
  ask({"DEL", key(request("k")), "onceward:outbox:sequence"});
  EXPECT_EQ(ask({"DBSIZE"}), before);
}

TEST_F(RedisOutboxTest, an_event_that_cannot_be_read_holds_up_nothing_but_its_own_key) {
  struct Damage {
    std::vector<std::vector<std::string>> done;
    std::string left;  // what may be sent
  };
  const std::vector<Damage> damages = {
      {{{"HSET", "onceward:event:1", "attempts", "many"}}, "3 "},
      {{{"HSET", "onceward:event:1", "due_at", ""}}, "3 "},
      {{{"HDEL", "onceward:event:1", "payload"}}, "3 "},
      // Nobody can tell whose it was.
      {{{"HDEL", "onceward:event:1", "scope"}}, "2 3 "},
      {{{"DEL", "onceward:event:1"}}, "2 3 "},
      {{{"DEL", "onceward:event:1"}, {"SET", "onceward:event:1", "no hash"}}, "2 3 "},
  };
  for (const auto& [done, left] : damages) {
    SCOPED_TRACE(done.back()[0] + " " + done.back().back());
    server_->flush_all();
    const std::unique_ptr<RedisStore> store = open();
    const Record relay = claim(*store, request("relay"))->record;
    const Record mine = claim(*store, request("k"))->record;
    ASSERT_TRUE(complete_with(*store, mine, {{"1", "a", "", "x"}, {"2", "b", "", "x"}}));
    const Record other = claim(*store, beside(request("k")))->record;
    ASSERT_TRUE(complete_with(*store, other, {{"3", "c", "", "x"}}));
    for (const std::vector<std::string>& words : done) ask(words);

    EXPECT_EQ(fetched(*store, mine), left);
    EXPECT_EQ(fetched(*store, mine, 1), left.substr(0, 2)) << "what cannot be read takes no place";
    ListEventsReply page = list(*store, {.limit = 1});
    ASSERT_EQ(page.events.size(), 1u);
    EXPECT_EQ(page.events[0].event.id, "1");
    EXPECT_EQ(page.events[0].last_error, "it cannot be read");
    page = list(*store, {.cursor = page.cursor});
    ASSERT_EQ(page.events.size(), 2u);
    EXPECT_EQ(page.events[1].event.id, "3");
    EXPECT_EQ(*settle(*store, {fence_of(relay), {"3"}, {{"2", "no", 1h, false}}}), 2u);
    testing::BlockingExecutor executor;
    EXPECT_TRUE(
        executor.call<OutboxStats>([&](auto& reply) { return store->outbox()->outbox_stats(reply); }));
    const RetryEventsRequest retry{{"1", "2"}};
    EXPECT_TRUE(
        executor.call<std::size_t>([&](auto& reply) { return store->outbox()->retry_events(retry, reply); }));
  }
}

std::vector<std::string> documented_rights() {
  std::ifstream file(std::string(ONCEWARD_VECTORS) + "/../../docs/stores.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t begin = text.find("needs: `") + 8;
  std::istringstream words(text.substr(begin, text.find('`', begin) - begin));
  return {std::istream_iterator<std::string>(words), {}};
}

TEST_F(RedisOutboxTest, the_documented_rights_of_a_user_are_enough) {
  std::vector<std::string> user{"ACL", "SETUSER", "app", "on", ">secret"};
  for (std::string& right : documented_rights()) user.push_back(std::move(right));
  ASSERT_EQ(ask(user), "OK");
  const std::string url = "redis://app:secret@" + server_url().substr(server_url().find("//") + 2);
  Result<std::unique_ptr<RedisStore>> opened = open_redis({.url = url});
  ASSERT_TRUE(opened);
  Store& store = **opened;
  OutboxStore& outbox = *store.outbox();
  testing::BlockingExecutor executor;

  ASSERT_TRUE(release(store, claim(store, marked("l", {unique("u"), suspect("s")}))->record));
  const Record mine = claim(store, marked("k", {unique("u"), suspect("s")}))->record;
  const Record relay = claim(store, request("relay"))->record;
  ASSERT_TRUE(complete_with(store, mine, {{"1", "a", "", "x"}, {"2", "b", "", ""}, {"3", "c", "", ""}}));
  const FetchEventsRequest fetch{outbox_partition_of(mine.scope), 10};
  const ListEventsRequest list{};
  const RetryEventsRequest retry{};
  EXPECT_EQ(
      executor
          .call<std::vector<PendingEvent>>([&](auto& reply) { return outbox.fetch_events(fetch, reply); })
          ->size(),
      3u);
  EXPECT_EQ(*settle(store, {fence_of(relay), {"1"}, {{"2", "no", 1h, false}, {"3", "never", 0ms, true}}}),
            3u);
  EXPECT_EQ(executor.call<OutboxStats>([&](auto& reply) { return outbox.outbox_stats(reply); })->set_aside,
            1u);
  EXPECT_EQ(executor.call<ListEventsReply>([&](auto& reply) { return outbox.list_events(list, reply); })
                ->events.size(),
            2u);
  EXPECT_EQ(*executor.call<std::size_t>([&](auto& reply) { return outbox.retry_events(retry, reply); }), 1u);
  opened->reset();
  ask({"ACL", "DELUSER", "app"});
}

}  // namespace
}  // namespace onceward::redis
