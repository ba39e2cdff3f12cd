// The cost of the heart: one transition, a claim and a completion in the memory store on one and more
// threads, and a whole run of the engine around instant work.
#include <benchmark/benchmark.h>

#include <atomic>

#include "core/scope.hpp"
#include "core/transition.hpp"
#include "engine/engine.hpp"
#include "stores/memory/memory_store.hpp"

namespace onceward {
namespace {

class SystemClock final : public Clock {
 public:
  Timestamp now() const override {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  }
  MonoTime mono() const override { return std::chrono::steady_clock::now(); }
};

class QuickRandom final : public Random {
 public:
  void fill(std::span<std::uint8_t> bytes) override {
    thread_local std::uint64_t state = 1;
    for (auto& byte : bytes)
      byte = static_cast<std::uint8_t>((state = state * 6364136223846793005 + 1) >> 56);
  }
};

// Everything here is answered at once, so nothing is ever posted; timers are armed and cancelled.
class IdleExecutor final : public Executor {
 public:
  void post(Completion*) override { std::abort(); }
  void arm(Timer& timer, MonoTime at) override {
    timer.at = at;
    timer.heap_slot = 0;
  }
  void cancel(Timer& timer) override { timer.heap_slot = Timer::npos; }
};

Scope scope_number(std::uint64_t n) {
  n = (n + 1) * 0x9e3779b97f4a7c15;
  Scope scope;
  for (std::size_t i = 0; i < 8; ++i) scope.data[i] = static_cast<std::uint8_t>(n >> (8 * i));
  scope.data.back() = scope.data[3];
  return scope;
}

ClaimRequest request_number(std::uint64_t n, const std::shared_ptr<const RequestInfo>& info) {
  ClaimRequest request;
  request.scope = scope_number(n);
  request.operation_id = make_operation_id(request.scope, Timestamp{Duration(1)}, 1);
  request.owner.data[0] = 1;
  request.fingerprint.version = 1;
  request.request = info;
  request.lease = std::chrono::seconds(30);
  request.max_hold = std::chrono::minutes(10);
  request.ttl = std::chrono::hours(1);
  return request;
}

const auto info = std::make_shared<const RequestInfo>(RequestInfo{"t", "op", "0123abcd", {}});
const auto response = std::make_shared<const Response>(Response{201, false, "", std::string(100, 'x')});

void claim_transition(benchmark::State& state) {
  const ClaimRequest request = request_number(1, info);
  for (auto _ : state) benchmark::DoNotOptimize(transition(nullptr, request, Timestamp{Duration(1)}));
}
BENCHMARK(claim_transition);

void complete_transition(benchmark::State& state) {
  const Record claimed = transition(nullptr, request_number(1, info), Timestamp{Duration(1)}).reply.record;
  const CompleteRequest request{fence_of(claimed), State::succeeded, response, {}};
  for (auto _ : state) benchmark::DoNotOptimize(transition(&claimed, request, Timestamp{Duration(2)}));
}
BENCHMARK(complete_transition);

SystemClock shared_clock;
std::unique_ptr<Store> shared_store;
std::atomic<std::uint64_t> next_key{0};

void memory_pair(benchmark::State& state) {
  IdleExecutor executor;
  // As in the proxy, nothing of one request belongs to another: neither its info nor its response. Shared
  // ones would measure how threads fight over a reference count.
  const auto own_info = std::make_shared<const RequestInfo>(*info);
  const auto own_response = std::make_shared<const Response>(*response);
  std::uint64_t key = static_cast<std::uint64_t>(state.thread_index()) << 40;
  for (auto _ : state) {
    const ClaimRequest request = request_number(key++, own_info);
    Reply<ClaimReply> claimed(executor);
    shared_store->claim(request, claimed);
    const CompleteRequest outcome{fence_of(claimed.value->record), State::succeeded, own_response, {}};
    Reply<Record> completed(executor);
    shared_store->complete(outcome, completed);
    benchmark::DoNotOptimize(completed.value);
  }
}
void fresh_store(const benchmark::State&) { shared_store = make_memory_store(shared_clock); }
void drop_store(const benchmark::State&) { shared_store.reset(); }
// A fixed number of pairs: a store that grows without end would measure the machine's memory instead.
BENCHMARK(memory_pair)
    ->Setup(fresh_store)
    ->Teardown(drop_store)
    ->ThreadRange(1, 2)
    ->Iterations(200'000)
    ->UseRealTime();

class InstantWork final : public Work {
 public:
  bool ready() override { return true; }
  Task<Result<Done>> prepare() override { co_return Done{}; }
  void stand_down() override {}
  Task<Effect> execute(Grant) override { co_return Answer{response, OutcomeClass::replay, std::nullopt}; }
  Task<std::optional<Answer>> late() override { co_return std::nullopt; }
};

void engine_run(benchmark::State& state) {
  IdleExecutor executor;
  QuickRandom random;
  const bool replays = state.range(0) != 0;
  Engine engine(*shared_store, shared_clock, random);
  const auto policy = std::make_shared<const Policy>();
  const auto work = std::make_shared<InstantWork>();
  for (auto _ : state) {
    Command command;
    command.scope = scope_number(replays ? 7 : next_key.fetch_add(1));
    command.fingerprint.version = 1;
    command.request = info;
    command.policy = policy;
    engine.start(executor, std::move(command), work, {});
  }
}
BENCHMARK(engine_run)->Setup(fresh_store)->Teardown(drop_store)->Arg(0)->Arg(1)->Iterations(200'000);

}  // namespace
}  // namespace onceward
