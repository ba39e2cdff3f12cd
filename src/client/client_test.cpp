#include "onceward/client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <random>

#include "client/intent_state.hpp"
#include "http/testing.hpp"
#include "support/temporary_folder.hpp"
#include "support/vectors.hpp"

namespace onceward::client {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

using Step = std::function<Task<>(http::Exchange&)>;

Step answer(int status, std::string lines = {}, std::string body = "done") {
  return [=](http::Exchange& exchange) -> Task<> { (void)co_await exchange.respond(status, lines, body); };
}

Step problem(int status, const std::string& code, const std::string& lines = {}) {
  return answer(status, "Content-Type: application/problem+json\r\n" + lines,
                R"({"code":")" + code + R"(","operationId":"op-1"})");
}

Step cut() {
  return [](http::Exchange& exchange) -> Task<> {
    exchange.abort();
    co_return;
  };
}

Step half() {
  return [](http::Exchange& exchange) -> Task<> {
    (void)co_await exchange.start(201, "", http::Body::length(10));
    (void)co_await exchange.write("half");
    exchange.abort();
  };
}

// A service that does the n-th step for the n-th request (then the last), and remembers keys and bodies.
class Service {
 public:
  explicit Service(std::vector<Step> steps)
      : steps_(std::move(steps)), server_([this](http::Exchange& exchange) { return handle(exchange); }) {}

  std::string url() const { return "http://" + server_.address + "/orders"; }
  std::vector<std::string> keys() {
    const std::lock_guard lock(mutex_);
    return keys_;
  }

 private:
  Task<> handle(http::Exchange& exchange) {
    std::string body;
    (void)co_await exchange.read_body(1 << 20, body);
    Step step;
    {
      const std::lock_guard lock(mutex_);
      step = steps_[std::min(keys_.size(), steps_.size() - 1)];
      keys_.emplace_back(exchange.request().headers.find("Idempotency-Key").value_or("none"));
    }
    co_await step(exchange);
  }

  std::vector<Step> steps_;
  std::mutex mutex_;
  std::vector<std::string> keys_;
  http::testing::RunningServer server_;
};

ClientOptions quick() {
  ClientOptions options;
  options.retry = {
      .attempts = 4, .first_delay = 4ms, .max_delay = 8ms, .deadline = 60s, .attempt_timeout = 30s};
  return options;
}

struct Fixture {
  std::shared_ptr<IntentStore> intents = IntentStore::in_memory();
  Intent intent = *intents->open("order", *NewKey::given("k1"));

  Outcome send(Client& client, const Request& request) {
    const Result<Outcome> outcome = client.send(intent, request);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? *outcome : Outcome{};
  }
};

struct EndCase {
  const char* name;
  std::vector<Step> steps;
  Ending ending;
  bool final;
  bool in_doubt;
  std::size_t requests;
};

class Endings : public ::testing::TestWithParam<EndCase> {};

TEST_P(Endings, TellSuccessFailureAndDoubtApart) {
  const EndCase& c = GetParam();
  Service service(c.steps);
  Fixture f;
  Client client(quick());
  const Outcome outcome = f.send(client, {.url = service.url(), .body = "b"});
  EXPECT_EQ(outcome.ending, c.ending) << c.name << ": " << outcome.reason;
  EXPECT_EQ(outcome.final, c.final) << c.name;
  EXPECT_EQ(f.intent.in_doubt(), c.in_doubt) << c.name;
  EXPECT_EQ(f.intent.end() != nullptr, c.final) << c.name;
  EXPECT_EQ(service.keys(), std::vector<std::string>(c.requests, "\"k1\"")) << c.name;
}

INSTANTIATE_TEST_SUITE_P(
    Table, Endings,
    ::testing::Values(
        EndCase{"an answer", {answer(201)}, Ending::succeeded, true, false, 1},
        EndCase{"a lost answer, then the first one again",
                {cut(), answer(201)},
                Ending::succeeded,
                true,
                false,
                2},
        EndCase{"half an answer", {half(), answer(201)}, Ending::succeeded, true, false, 2},
        EndCase{"still running: waiting costs no attempts",
                std::vector<Step>{
                    cut(), problem(409, "IDEMPOTENCY_REQUEST_IN_PROGRESS", "Retry-After: 0\r\n"),
                    problem(409, "IDEMPOTENCY_REQUEST_IN_PROGRESS", "Retry-After: 0\r\n"),
                    problem(409, "IDEMPOTENCY_REQUEST_IN_PROGRESS", "Retry-After: 0\r\n"),
                    problem(409, "IDEMPOTENCY_REQUEST_IN_PROGRESS", "Retry-After: 0\r\n"), answer(200)},
                Ending::succeeded, true, false, 6},
        EndCase{"the service says no", {answer(400)}, Ending::failed, true, false, 1},
        EndCase{"no, after a lost answer", {cut(), answer(400)}, Ending::failed, true, false, 2},
        EndCase{"another request has the key",
                {problem(422, "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST")},
                Ending::failed,
                true,
                false,
                1},
        EndCase{"held as unknown",
                {problem(504, "IDEMPOTENCY_OUTCOME_UNKNOWN")},
                Ending::unknown,
                false,
                true,
                1},
        EndCase{"busy all the time, nothing done", {answer(503)}, Ending::failed, false, false, 4},
        EndCase{"busy after a lost answer", {cut(), answer(503)}, Ending::unknown, false, true, 4},
        EndCase{"every answer lost", {cut()}, Ending::unknown, false, true, 4},
        EndCase{"not let in", {answer(401)}, Ending::failed, false, false, 1},
        EndCase{"not let in after a lost answer", {cut(), answer(401)}, Ending::unknown, false, true, 2},
        EndCase{"the server wants more patience than there is",
                {problem(503, "IDEMPOTENCY_STORE_UNAVAILABLE", "Retry-After: 60\r\n")},
                Ending::failed,
                false,
                false,
                1}));

TEST(Client, AFinishedIntentGivesItsOutcomeAgainAndSendsNothing) {
  Service service({answer(201, "X-A: 1\r\nX-A: 2\r\nOnceward-Operation-Id: op-7\r\n", "first")});
  Fixture f;
  Client client(quick());
  (void)f.send(client, {.url = service.url()});
  const Outcome again = f.send(client, {.url = service.url()});
  EXPECT_TRUE(again.from_intent);
  EXPECT_EQ(again.answer.body, "first");
  EXPECT_EQ(again.answer.header("x-a"), "1");
  EXPECT_EQ(again.operation_id, "op-7");
  EXPECT_EQ(service.keys().size(), 1u);
}

TEST(Client, RefusesAnotherRequestUnderTheSameIntent) {
  Service service({cut()});
  Fixture f;
  Client client(quick());
  (void)f.send(client, {.url = service.url(), .body = "a"});
  const std::size_t before = service.keys().size();
  for (const Request& other :
       {Request{.url = service.url(), .body = "b"}, Request{.url = service.url() + "/2", .body = "a"},
        Request{.method = "PUT", .url = service.url(), .body = "a"},
        Request{.url = service.url(), .headers = {{"Authorization", "another"}}, .body = "a"}}) {
    const Result<Outcome> refused = client.send(f.intent, other);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::invalid);
    EXPECT_THAT(refused.error().message, HasSubstr("Nothing was sent"));
  }
  EXPECT_EQ(service.keys().size(), before);
}

TEST(Client, AnIntentInDoubtGoesOnWithTheSameKey) {
  Service service({cut(), cut(), cut(), cut(), answer(200)});
  Fixture f;
  {
    Client client(quick());
    EXPECT_EQ(f.send(client, {.url = service.url()}).ending, Ending::unknown);
  }
  Client another(quick());
  EXPECT_EQ(f.send(another, {.url = service.url()}).ending, Ending::succeeded);
  EXPECT_EQ(service.keys(), std::vector<std::string>(5, "\"k1\""));
}

TEST(Client, NothingSentIsADefiniteFailureAndNoDoubt) {
  std::string url;
  {
    const http::testing::RawListener closed;
    url = closed.url();
  }
  Fixture f;
  Client client(quick());
  const Outcome outcome = f.send(client, {.url = url});
  EXPECT_EQ(outcome.ending, Ending::failed);
  EXPECT_FALSE(f.intent.in_doubt());
  EXPECT_EQ(outcome.attempts, 4u);
}

TEST(Client, TheIntentIsOnDiskAndInDoubtBeforeTheServerSeesTheRequest) {
  const testing::TemporaryFolder folder;
  std::atomic<bool> kept = false;
  Service service({[&](http::Exchange& exchange) -> Task<> {
    const auto file = test::read_vector(folder.path() + "/order.intent");
    const auto entry = last_entry(file);
    kept = entry && *entry && (*entry)->in_doubt && (*entry)->key == "k1";
    (void)co_await exchange.respond(201, "", "");
  }});
  auto intents = *IntentStore::in_folder(folder.path());
  Intent intent = *intents->open("order", *NewKey::given("k1"));
  Client client(quick());
  ASSERT_TRUE(client.send(intent, {.url = service.url()}));
  EXPECT_TRUE(kept);
  EXPECT_FALSE(intent.in_doubt());
}

TEST(Client, AnIntentThatCannotBeKeptSendsNothing) {
  Service service({answer(201)});
  Fixture f;
  struct Unkept final : detail::IntentState {
    Result<Done> save() override { return Error{Errc::unavailable, "disk full"}; }
    Result<Done> remove() override { return Done{}; }
  };
  auto state = std::make_unique<Unkept>();
  state->record = {.name = "x", .key = "k", .end = {}};
  Intent intent = detail::IntentState::wrap(std::move(state));
  Client client(quick());
  const Result<Outcome> refused = client.send(intent, {.url = service.url()});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("disk full. Nothing was sent"));
  EXPECT_FALSE(intent.in_doubt());
  EXPECT_TRUE(service.keys().empty());
}

TEST(Client, CanBeCancelledInAPause) {
  Service service({answer(503)});
  Fixture f;
  ClientOptions options = quick();
  options.retry = {
      .attempts = 5, .first_delay = 1h, .max_delay = 1h, .deadline = 24h, .attempt_timeout = 30s};
  std::stop_source source;
  options.on_retry = [&](std::string_view, std::chrono::milliseconds) { source.request_stop(); };
  Client client(options);
  const Result<Outcome> outcome = client.send(f.intent, {.url = service.url()}, source.get_token());
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->ending, Ending::failed);
  EXPECT_THAT(outcome->reason, HasSubstr("cancelled"));
}

TEST(Client, CanBeCancelledWhileAnAnswerIsAwaitedAndIsThenInDoubt) {
  http::testing::RawListener silent;
  Fixture f;
  Client client(quick());
  std::stop_source source;
  std::promise<Result<Outcome>> ended;
  client.send_async(
      f.intent, {.url = silent.url()}, [&](Result<Outcome> outcome) { ended.set_value(std::move(outcome)); },
      source.get_token());
  http::testing::Raw connection = silent.accept();
  EXPECT_THAT(connection.read_until("\r\n\r\n"), HasSubstr("Idempotency-Key: \"k1\""));
  source.request_stop();
  const Result<Outcome> outcome = ended.get_future().get();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->ending, Ending::unknown);
  EXPECT_TRUE(f.intent.in_doubt());
}

TEST(Client, DestroyingItCancelsWhatRuns) {
  http::testing::RawListener silent;
  Fixture f;
  std::promise<Result<Outcome>> ended;
  {
    Client client(quick());
    client.send_async(f.intent, {.url = silent.url()},
                      [&](Result<Outcome> o) { ended.set_value(std::move(o)); });
    http::testing::Raw connection = silent.accept();
    (void)connection.read_until("\r\n\r\n");
  }
  EXPECT_EQ(ended.get_future().get()->ending, Ending::unknown);
}

TEST(Client, AnswersErrorsOfAsynchronousSendsThroughTheCallback) {
  Fixture f;
  Client client(quick());
  std::promise<Result<Outcome>> ended;
  client.send_async(f.intent, {.url = "nonsense"}, [&](Result<Outcome> o) { ended.set_value(std::move(o)); });
  EXPECT_EQ(ended.get_future().get().error().code, Errc::invalid);
}

TEST(Client, SendsManyIntentsAtOnce) {
  Service service({answer(201)});
  auto intents = IntentStore::in_memory();
  std::vector<Intent> open;
  for (int i = 0; i < 50; ++i) open.push_back(*intents->open("order-" + std::to_string(i)));
  std::atomic<int> succeeded = 0;
  {
    Client client(quick());
    std::vector<std::future<void>> done;
    std::vector<std::promise<void>> told(open.size());
    for (std::size_t i = 0; i < open.size(); ++i) {
      done.push_back(told[i].get_future());
      client.send_async(open[i], {.url = service.url()}, [&, i](const Result<Outcome>& o) {
        succeeded += o && o->ending == Ending::succeeded;
        told[i].set_value();
      });
    }
    for (auto& one : done) one.wait();
  }
  EXPECT_EQ(succeeded, 50);
}

TEST(Client, TheBudgetEndsRetriesOfAllIntentsTogether) {
  Service service({answer(503)});
  ClientOptions options = quick();
  options.budget_max = 3;
  options.budget_ratio = 0;
  Client client(options);
  auto intents = IntentStore::in_memory();
  for (const char* name : {"a", "b", "c"}) {
    Intent intent = *intents->open(name);
    EXPECT_EQ(client.send(intent, {.url = service.url()})->ending, Ending::failed);
  }
  EXPECT_EQ(service.keys().size(), 3u + 3u) << "three first attempts and three retries";
}

TEST(Client, TheBreakerStopsSendingToAServerThatFails) {
  Service service({answer(503)});
  ClientOptions options = quick();
  options.breaker_failures = 2;
  options.breaker_pause = 1h;
  Client client(options);
  Fixture f;
  const Outcome outcome = f.send(client, {.url = service.url()});
  EXPECT_EQ(outcome.ending, Ending::failed);
  EXPECT_EQ(service.keys().size(), 2u);
  EXPECT_EQ(outcome.attempts, 2u);
  EXPECT_THAT(outcome.reason, HasSubstr("left alone"));
}

// A service that deduplicates by key and mostly fails to say so.
class FlakyService {
 public:
  explicit FlakyService(unsigned seed)
      : random_(seed), server_([this](http::Exchange& exchange) { return handle(exchange); }) {}
  std::string url() const { return "http://" + server_.address + "/orders"; }
  std::map<std::string, int> effects() {
    const std::lock_guard lock(mutex_);
    return effects_;
  }

 private:
  Task<> handle(http::Exchange& exchange) {
    const std::string key(exchange.request().headers.find("Idempotency-Key").value_or("none"));
    Step step;
    {
      const std::lock_guard lock(mutex_);
      const unsigned what = random_() % 8;
      if (what < 2) {
        step = what == 0 ? answer(503, "Retry-After: 0\r\n") : cut();  // before anything happened
      } else {
        const auto [entry, is_new] = effects_.try_emplace(key, 0);
        if (is_new) ++entry->second;
        if (what < 4)
          step = cut();
        else if (what == 4)
          step = half();
        else if (what == 5)
          step = answer(504);
        else
          step = answer(201, is_new ? "" : "Idempotent-Replayed: true\r\n", key);
      }
    }
    co_await step(exchange);
  }
  std::mutex mutex_;
  std::mt19937 random_;
  std::map<std::string, int> effects_;
  http::testing::RunningServer server_;
};

TEST(Client, TwoHundredIntentsThroughAFlakyServiceAreTwoHundredEffects) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  FlakyService service(seed);
  ClientOptions options = quick();
  options.retry.attempts = 200;
  options.retry.deadline = 60s;
  options.budget_max = 1e6;
  options.breaker_failures = 1'000'000;
  Client client(options);
  auto intents = IntentStore::in_memory();
  std::vector<Intent> open;
  for (int i = 0; i < 200; ++i) open.push_back(*intents->open("order-" + std::to_string(i)));
  std::vector<std::promise<Outcome>> told(open.size());
  for (std::size_t i = 0; i < open.size(); ++i) {
    client.send_async(open[i], {.url = service.url()}, [&told, i](const Result<Outcome>& outcome) {
      told[i].set_value(outcome ? *outcome : Outcome{});
    });
  }
  std::size_t attempts = 0;
  for (std::size_t i = 0; i < open.size(); ++i) {
    const Outcome outcome = told[i].get_future().get();
    EXPECT_EQ(outcome.ending, Ending::succeeded) << outcome.reason;
    EXPECT_EQ(outcome.answer.body, "\"" + open[i].key() + "\"");
    attempts += outcome.attempts;
  }
  const auto effects = service.effects();
  EXPECT_EQ(effects.size(), 200u);
  for (const auto& [key, count] : effects) EXPECT_EQ(count, 1) << key;
  EXPECT_GT(attempts, 400u) << "the service was not flaky: the test shows nothing";
}

TEST(Client, CutsABodyThatIsTooLargeAndSaysSo) {
  Service service({answer(201, "", std::string(1000, 'x'))});
  ClientOptions options = quick();
  options.max_response_bytes = 100;
  Client client(options);
  Fixture f;
  const Outcome outcome = f.send(client, {.url = service.url()});
  EXPECT_EQ(outcome.ending, Ending::succeeded);
  EXPECT_TRUE(outcome.answer.body_cut);
  EXPECT_EQ(outcome.answer.body, std::string(100, 'x'));
}

}  // namespace
}  // namespace onceward::client
