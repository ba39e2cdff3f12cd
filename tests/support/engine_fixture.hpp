// One engine over the model store in virtual time, and work that does what the test says.
#pragma once

#include <gtest/gtest.h>

#include "base/await.hpp"
#include "base/sha256.hpp"
#include "core/scope.hpp"
#include "engine/engine.hpp"
#include "support/fakes.hpp"
#include "support/model_store.hpp"
#include "support/virtual_executor.hpp"

namespace onceward::testing {

inline std::shared_ptr<const Response> response_of(int status, std::string body) {
  return std::make_shared<const Response>(
      Response{static_cast<std::uint16_t>(status), false, "", std::move(body)});
}
inline Answer answer_of(int status, std::string body = "done") {
  return {response_of(status, std::move(body)), OutcomeTable().of(status), std::nullopt};
}

class ScriptedWork final : public Work {
 public:
  ScriptedWork(Executor& executor, const Clock& clock) : executor_(executor), clock_(clock) {}

  bool ready() override { return is_ready; }
  Task<Result<Done>> prepare() override {
    ++prepared;
    co_await SleepUntil(executor_, clock_.mono() + prepare_takes);
    if (prepare_error) co_return *prepare_error;
    co_return Done{};
  }
  void stand_down() override { ++stood_down; }
  Task<Effect> execute(Grant grant) override {
    ++executed;
    last_grant = grant;
    if (takes > Duration::zero()) co_await SleepUntil(executor_, clock_.mono() + takes);
    co_return effect;
  }
  Task<std::optional<Answer>> late() override {
    co_await SleepUntil(executor_, clock_.mono() + late_after);
    co_return late_answer;
  }

  bool is_ready = true;
  std::optional<Error> prepare_error;
  Duration prepare_takes{0};
  Effect effect = answer_of(201);
  Duration takes{0};
  std::optional<Answer> late_answer;
  Duration late_after{0};
  int prepared = 0;
  int stood_down = 0;
  int executed = 0;
  Grant last_grant;

 private:
  Executor& executor_;
  const Clock& clock_;
};

// A caller that stays and remembers what it was told.
class Listener final : public Engine::Caller {
 public:
  void told(Outcome outcome) override {
    ++times;
    what = std::move(outcome);
  }
  template <class T>
  const T* as() const {
    return what ? std::get_if<T>(&*what) : nullptr;
  }
  int times = 0;
  std::optional<Outcome> what;
};

class EngineTest : public ::testing::Test {
 protected:
  EngineTest() {
    policy.lease = std::chrono::seconds(30);
    policy.max_hold = std::chrono::minutes(10);
  }
  ~EngineTest() override {
    time.advance(std::chrono::hours(48));  // every wait has a deadline, so nothing may be left
    EXPECT_EQ(engine.flights(), 0u);
    EXPECT_EQ(engine.executions(), 0u);
    EXPECT_EQ(store.watches(), 0u);
  }

  Scope scope(const std::string& key = "k") { return scope_of("t", "c", "op", key, ""); }
  Fingerprint fingerprint(const std::string& body) { return {1, Digest{sha256(body)}}; }
  Command command(const std::string& body = "body", Duration wait = std::chrono::seconds(5)) {
    Command command;
    command.scope = scope();
    command.fingerprint = fingerprint(body);
    command.request = std::make_shared<const RequestInfo>(RequestInfo{"t", "op", "", {}});
    command.policy = std::make_shared<const Policy>(policy);
    command.wait = wait;
    return command;
  }
  std::shared_ptr<ScriptedWork> work(Effect effect = answer_of(201), Duration takes = {}) {
    auto made = std::make_shared<ScriptedWork>(time.executor, time.clock);
    made->effect = std::move(effect);
    made->takes = takes;
    return made;
  }
  std::shared_ptr<Listener> start(Command command, std::shared_ptr<Work> work) {
    auto listener = std::make_shared<Listener>();
    engine.start(time.executor, std::move(command), std::move(work), listener);
    return listener;
  }
  // Another machine's claim of the key, straight at the store.
  Record claim_elsewhere(const std::string& body = "body") {
    ClaimRequest request;
    request.scope = scope();
    request.operation_id = make_operation_id(request.scope, time.clock.now(), 1);
    request.owner.data[0] = 0xee;
    request.owner.data[1] = ++others_;
    request.fingerprint = fingerprint(body);
    request.request = std::make_shared<const RequestInfo>(RequestInfo{"t", "op", "", {}});
    request.lease = policy.lease;
    request.max_hold = policy.max_hold;
    request.ttl = policy.ttl;
    return must(call<ClaimReply>([&](auto& reply) { return store.claim(request, reply); })).record;
  }
  Result<Record> complete_elsewhere(const Record& mine, const std::string& body) {
    const CompleteRequest request{fence_of(mine), State::succeeded, response_of(200, body), {}};
    return call<Record>([&](auto& reply) { return store.complete(request, reply); });
  }
  Result<Record> release_elsewhere(const Record& mine, bool unbind) {
    const ReleaseRequest request{fence_of(mine), unbind};
    return call<Record>([&](auto& reply) { return store.release(request, reply); });
  }
  Result<Record> resolve(const Record& record, State as, const std::string& body = "") {
    const ResolveRequest request{record.scope, record.operation_id, record.epoch, as,
                                 body.empty() ? nullptr : response_of(200, body)};
    return call<Record>([&](auto& reply) { return store.resolve(request, reply); });
  }
  std::optional<Record> record() {
    const Record* stored = store.find(scope());
    return stored ? settle(*stored, time.clock.now()) : std::nullopt;
  }
  State state() { return record() ? record()->state : State::expired; }

  template <class T, class Start>
  Result<T> call(Start start) {
    Reply<T> reply(time.executor);
    const bool answered = start(reply);
    EXPECT_TRUE(answered);
    return std::move(reply.value);
  }
  template <class T>
  static T must(Result<T> result) {
    EXPECT_TRUE(result.has_value());
    return result ? std::move(*result) : T{};
  }

  VirtualRun time;
  ModelStore store{time.clock};
  SeededRandom random{7};
  Engine engine{store, time.clock, random};
  Policy policy;
  std::uint8_t others_ = 0;
};

}  // namespace onceward::testing
