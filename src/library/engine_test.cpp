#include "onceward/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <thread>

#include "base/system.hpp"
#include "onceward/claim.hpp"
#include "onceward/settings.hpp"
#include "support/model_store.hpp"
#include "support/temporary_folder.hpp"

namespace onceward {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = Outcome::Kind;

Command command(std::string key, std::string payload = R"({"amount": 5})") {
  Command made;
  made.operation = "charge";
  made.key = std::move(key);
  made.payload = std::move(payload);
  made.content_type = "application/json";
  made.wait = Duration(0);
  return made;
}

Engine::Work gives(Effect effect) {
  return [effect](const Ticket&) { return effect; };
}
const Engine::Work must_not_run = [](const Ticket&) {
  ADD_FAILURE() << "the work ran";
  return Effect::unknown("");
};

class EngineTest : public ::testing::Test {
 protected:
  static Engine open(EngineOptions options = {}) {
    Result<Engine> opened = Engine::open(options);
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }
  Engine engine_ = open();
};

TEST_F(EngineTest, the_first_runs_and_the_second_is_given_what_was_kept) {
  const Outcome first = engine_.run(command("k"), gives(Effect::succeeded("receipt 1")));
  EXPECT_EQ(first.kind, Kind::executed);
  EXPECT_TRUE(first.ran && first.ok() && first.stored);
  EXPECT_EQ(first.value, "receipt 1");
  EXPECT_EQ(first.epoch, 1u);
  const Outcome second = engine_.run(command("k"), must_not_run);
  EXPECT_EQ(second.kind, Kind::replayed);
  EXPECT_TRUE(second.ok() && !second.ran);
  EXPECT_EQ(second.value, "receipt 1");
  EXPECT_EQ(second.operation_id, first.operation_id);
}

TEST_F(EngineTest, every_part_of_the_scope_keeps_commands_apart) {
  EXPECT_TRUE(engine_.run(command("k"), gives(Effect::succeeded("1"))).ran);
  Command other = command("k");
  other.tenant = "a";
  EXPECT_TRUE(engine_.run(other, gives(Effect::succeeded("2"))).ran);
  other.caller = "a";
  EXPECT_TRUE(engine_.run(other, gives(Effect::succeeded("3"))).ran);
  other.operation = "refund";
  EXPECT_TRUE(engine_.run(other, gives(Effect::succeeded("4"))).ran);
  EXPECT_EQ(engine_.run(other, must_not_run).value, "4");
}

TEST_F(EngineTest, another_payload_is_refused_and_what_changed_is_named) {
  (void)engine_.run(command("k", R"({"amount": 5, "to": "a"})"), gives(Effect::succeeded("1")));
  EXPECT_EQ(engine_.run(command("k", R"({"to":"a","amount":5.0})"), must_not_run).kind, Kind::replayed);
  const Outcome other = engine_.run(command("k", R"({"amount": 6, "to": "a"})"), must_not_run);
  EXPECT_EQ(other.kind, Kind::mismatch);
  EXPECT_THAT(other.changed, ElementsAre("/amount"));
}

TEST_F(EngineTest, how_the_work_ended_decides_what_a_retry_gets) {
  const struct {
    Effect effect;
    Kind first;
    Kind again;
  } table[] = {
      {Effect::succeeded("v"), Kind::executed, Kind::replayed},
      {Effect::failed("no money"), Kind::executed, Kind::replayed},
      {Effect::released("provider is closed"), Kind::released, Kind::executed},
      {Effect::unknown("time-out"), Kind::unknown, Kind::unknown},
  };
  int number = 0;
  for (const auto& row : table) {
    const Command asked = command("k" + std::to_string(number++));
    const Outcome first = engine_.run(asked, gives(row.effect));
    EXPECT_EQ(first.kind, row.first);
    EXPECT_TRUE(first.ran);
    const Outcome again = engine_.run(asked, gives(Effect::succeeded("again")));
    EXPECT_EQ(again.kind, row.again);
    if (again.kind == Kind::replayed) {
      EXPECT_EQ(again.value, row.effect.value);
      EXPECT_EQ(again.failed, row.effect.kind == Effect::Kind::failed);
    }
  }
}

TEST_F(EngineTest, what_the_work_throws_is_thrown_on_and_leaves_the_outcome_unknown) {
  EXPECT_THROW(
      (void)engine_.run(command("k"), [](const Ticket&) -> Effect { throw std::runtime_error("boom"); }),
      std::runtime_error);
  EXPECT_EQ(engine_.run(command("k"), must_not_run).kind, Kind::unknown);
}

TEST_F(EngineTest, a_value_too_large_to_keep_is_given_once_and_never_made_again) {
  EngineOptions options;
  options.max_response = 4;
  Engine small = open(options);
  EXPECT_EQ(small.run(command("k"), gives(Effect::succeeded("12345"))).value, "12345");
  EXPECT_EQ(small.run(command("k"), must_not_run).kind, Kind::not_stored);
  EXPECT_EQ(small.run(command("l"), gives(Effect::succeeded("1234"))).value, "1234");
  EXPECT_EQ(small.run(command("l"), must_not_run).value, "1234");
}

TEST_F(EngineTest, a_command_has_a_reference_and_comes_to_a_result) {
  Command made = command("k");
  made.reference = "A-17";
  Effect effect = Effect::succeeded("receipt 1");
  effect.result = {"charge", "ch_1", ""};
  const Outcome first = engine_.run(made, gives(effect));
  EXPECT_EQ(first.result, effect.result);
  const Outcome second = engine_.run(made, must_not_run);
  EXPECT_EQ(second.kind, Kind::replayed);
  EXPECT_EQ(second.result, effect.result);
  made.reference = std::string(256, 'x');
  EXPECT_EQ(engine_.run(made, must_not_run).kind, Kind::invalid);
}

TEST_F(EngineTest, a_command_without_key_or_operation_is_invalid) {
  EXPECT_EQ(engine_.run(command(""), must_not_run).kind, Kind::invalid);
  Command nameless = command("k");
  nameless.operation = "";
  EXPECT_EQ(engine_.run(nameless, must_not_run).kind, Kind::invalid);
}

TEST_F(EngineTest, callbacks_run_the_work_and_may_finish_elsewhere) {
  std::promise<Outcome> told;
  std::thread elsewhere;
  engine_.run(
      command("k"),
      [&](const Ticket& ticket, Finish finish) {
        EXPECT_EQ(ticket.epoch, 1u);
        elsewhere = std::thread([finish] { finish(Effect::succeeded("from another thread")); });
      },
      [&](Outcome outcome) { told.set_value(std::move(outcome)); });
  EXPECT_EQ(told.get_future().get().value, "from another thread");
  elsewhere.join();
  EXPECT_EQ(engine_.run(command("k"), must_not_run).value, "from another thread");
}

TEST_F(EngineTest, work_that_is_dropped_without_a_word_is_unknown) {
  std::promise<Outcome> told;
  engine_.run(
      command("k"), [](const Ticket&, const Finish&) {},
      [&](Outcome outcome) { told.set_value(std::move(outcome)); });
  EXPECT_EQ(told.get_future().get().kind, Kind::unknown);
}

TEST_F(EngineTest, blocking_calls_on_the_engines_own_thread_are_refused) {
  std::promise<std::pair<Kind, Kind>> seen;
  engine_.run(
      command("k"), [](const Ticket&, const Finish& finish) { finish(Effect::succeeded("")); },
      [&](const Outcome&) {
        const Kind run = engine_.run(command("l"), must_not_run).kind;
        seen.set_value({run, engine_.claim(command("l")).outcome.kind});
      });
  EXPECT_EQ(seen.get_future().get(), std::pair(Kind::invalid, Kind::invalid));
}

TEST_F(EngineTest, of_twenty_at_once_one_runs_and_the_others_are_told_to_wait_or_replay) {
  std::atomic<int> runs = 0;
  std::promise<void> all_asked;
  std::shared_future<void> go = all_asked.get_future().share();
  std::atomic<int> in_progress = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&] {
      const Outcome outcome = engine_.run(command("k"), [&](const Ticket&) {
        ++runs;
        go.wait();
        return Effect::succeeded("once");
      });
      if (outcome.kind == Kind::in_progress && ++in_progress == 19) all_asked.set_value();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(in_progress, 19);
  EXPECT_EQ(engine_.run(command("k"), must_not_run).value, "once");
}

TEST_F(EngineTest, a_lease_is_renewed_while_the_work_blocks) {
  EngineOptions options;
  options.defaults.lease = Duration(3000);  // so long that a busy machine renews it in time
  Engine quick = open(options);
  const Outcome outcome = quick.run(command("k"), [&](const Ticket&) {
    const auto until = std::chrono::steady_clock::now() + Duration(4000);
    while (std::chrono::steady_clock::now() < until) {
      EXPECT_EQ(quick.run(command("k"), must_not_run).kind, Kind::in_progress);
      std::this_thread::sleep_for(Duration(1));
    }
    return Effect::succeeded("done");
  });
  EXPECT_EQ(outcome.kind, Kind::executed);
}

TEST(EngineStoreTest, outcomes_survive_a_restart_in_a_folder) {
  const testing::TemporaryFolder folder;
  EngineOptions options;
  options.store = "file:" + folder.path();
  {
    Result<Engine> engine = Engine::open(options);
    ASSERT_TRUE(engine) << engine.error().message;
    (void)engine->run(command("k"), gives(Effect::succeeded("kept")));
  }
  Result<Engine> engine = Engine::open(options);
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_EQ(engine->run(command("k"), must_not_run).value, "kept");
}

TEST(EngineStoreTest, wrong_options_are_refused_with_a_reason) {
  EngineOptions options;
  options.store = "mysql://here";
  EXPECT_THAT(Engine::open(options).error().message, HasSubstr("expected memory, file:DIR"));
  options.store = "memory";
  options.cache = "redis://here";
  EXPECT_THAT(Engine::open(options).error().message, HasSubstr("only for postgres"));
  options.cache = "";
  options.defaults.lease = Duration(0);
  EXPECT_THAT(Engine::open(options).error().message, HasSubstr("ttl and lease"));
  options.defaults = {};
  options.operations = {{"a", "POST /a"}, {"a", "POST /b"}};
  EXPECT_THAT(Engine::open(options).error().message, HasSubstr("two operations have the name 'a'"));
  options.operations = {{"a", "post /a"}};
  EXPECT_THAT(Engine::open(options).error().message, HasSubstr("capitals"));
}

TEST(EngineStoreTest, a_true_answer_is_given_when_the_store_fails_afterwards_and_the_key_stays_held) {
  const SystemClock clock;
  auto store = std::make_unique<testing::ModelStore>(clock);
  for (int i = 0; i < 100; ++i) store->fail_next("complete", {Errc::unavailable, false});
  EngineOptions options;
  options.defaults.lease = Duration(200);
  options.defaults.max_hold = Duration(200);
  Result<Engine> engine = Engine::open(options, std::move(store));
  ASSERT_TRUE(engine);
  const Outcome first = engine->run(command("k"), gives(Effect::succeeded("true answer")));
  EXPECT_EQ(first.value, "true answer");
  EXPECT_FALSE(first.stored);
  const Outcome second = engine->run(command("k"), must_not_run);
  EXPECT_TRUE(second.kind == Kind::in_progress || second.kind == Kind::unknown) << to_string(second.kind);
}

TEST(EngineStoreTest, a_store_that_cannot_answer_runs_nothing) {
  const SystemClock clock;
  auto store = std::make_unique<testing::ModelStore>(clock);
  for (int i = 0; i < 2; ++i) store->fail_next("claim", {Errc::refused, false});
  Result<Engine> engine = Engine::open({}, std::move(store));
  ASSERT_TRUE(engine);
  EXPECT_EQ(engine->run(command("k"), must_not_run).kind, Kind::store_failed);
}

TEST(SettingsTest, policies_come_from_the_words_of_the_proxys_file) {
  const Result<Settings> settings = settings_from_yaml(R"(
store: memory
limits: { max_response: 1KiB }
identity: { tenant: { from: "header:X-Org", required: true, format: uuid } }
defaults: { ttl: 1h }
operations:
  - { name: charge, match: POST /charges, lease: 5s, mismatch_status: 409 }
)");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->engine.max_response, 1024u);
  EXPECT_EQ(settings->engine.defaults.ttl, std::chrono::hours(1));
  ASSERT_EQ(settings->engine.operations.size(), 1u);
  EXPECT_EQ(settings->engine.operations[0].policy.lease, std::chrono::seconds(5));
  EXPECT_EQ(settings->engine.operations[0].policy.ttl, std::chrono::hours(1));
  EXPECT_EQ(settings->http.tenant_header, "X-Org");
  EXPECT_TRUE(settings->http.tenant_required && settings->http.tenant_is_uuid);
}

TEST_F(EngineTest, a_second_key_for_the_same_fact_is_told_of_the_first) {
  OperationPolicy charge{.name = "charge"};
  charge.policy.unique = UniquePolicy{.name = "charge-per-order", .fields = {"/order"}};
  EngineOptions options;
  options.operations = {charge};
  Engine engine = open(options);
  const Outcome first = engine.run(command("k1", R"({"order": 7})"), gives(Effect::succeeded("receipt")));
  ASSERT_EQ(first.kind, Kind::executed);
  const Outcome second = engine.run(command("k2", R"({"order": 7.0})"), must_not_run);
  EXPECT_EQ(second.kind, Kind::duplicate);
  EXPECT_EQ(second.operation_id, first.operation_id);
  EXPECT_EQ(engine.claim(command("k3", R"({"order": 7})")).outcome.kind, Kind::duplicate);
  EXPECT_EQ(engine.run(command("k4", R"({"order": 8})"), gives(Effect::succeeded(""))).kind, Kind::executed);
}

TEST(SettingsTest, mistakes_and_what_only_a_proxy_can_do_are_errors) {
  EXPECT_THAT(settings_from_yaml("defaults: { tttl: 1h }", "rules.yaml").error().message,
              HasSubstr("rules.yaml:1:13: unknown key 'tttl'"));
  EXPECT_THAT(settings_from_yaml("quotas: { in_flight: 5 }").error().message, HasSubstr("quotas"));
  EXPECT_THAT(settings_from_yaml("operations: [{match: POST /a, reference: /a}]").error().message,
              HasSubstr("reference"));
}

}  // namespace
}  // namespace onceward
