// The engine on several real threads that fight for a few keys. What is proven: every caller is told
// once, one execution per key, and (under ThreadSanitizer) no race between leaders and followers.
#include <gtest/gtest.h>

#include <algorithm>
#include <latch>

#include "base/await.hpp"
#include "base/sha256.hpp"
#include "core/scope.hpp"
#include "engine/engine.hpp"
#include "stores/memory/memory_store.hpp"
#include "support/fakes.hpp"
#include "support/thread_executor.hpp"

namespace onceward::testing {
namespace {

using namespace std::chrono_literals;

constexpr int thread_count = 4;
constexpr int rounds = 400;
constexpr int callers_per_thread = 6;

std::atomic<int> executed{0};

class QuickWork final : public Work {
 public:
  QuickWork(Executor& executor, const Clock& clock, int status, bool hops)
      : executor_(executor), clock_(clock), status_(status), hops_(hops) {}
  bool ready() override { return true; }
  Task<Result<Done>> prepare() override { co_return Done{}; }
  void stand_down() override {}
  Task<Effect> execute(Grant) override {
    if (status_ == 201) ++executed;
    if (hops_) co_await SleepUntil(executor_, clock_.mono() + 50us);
    auto response =
        std::make_shared<const Response>(Response{static_cast<std::uint16_t>(status_), false, "", "made"});
    co_return Answer{std::move(response), OutcomeTable().of(status_), std::nullopt};
  }
  Task<std::optional<Answer>> late() override { co_return std::nullopt; }

 private:
  Executor& executor_;
  const Clock& clock_;
  const int status_;
  const bool hops_;
};

struct Crowd {
  Engine& engine;
  const Clock& clock;
  std::latch& left;
  std::atomic<int>& wrong;
};

Task<> ask(Crowd crowd, Executor& executor, Command command, std::shared_ptr<Work> work) {
  const bool must_know = command.wait > Duration::zero();
  const Outcome outcome = co_await crowd.engine.run(executor, std::move(command), std::move(work));
  const bool answered =
      std::holds_alternative<Executed>(outcome) || std::holds_alternative<Replayed>(outcome);
  if (must_know && !answered) ++crowd.wrong;
  crowd.left.count_down();
}

// Begins a few callers on the executor's own thread.
struct Kick : Completion {
  std::function<void()> what;
  explicit Kick(std::function<void()> w) : what(std::move(w)) {
    run = [](Completion* self) { static_cast<Kick*>(self)->what(); };
  }
};

TEST(EngineThreads, duplicates_on_several_threads_execute_once_and_are_all_told) {
  RealClock clock;
  SeededRandom random(11);
  const std::unique_ptr<Store> store = make_memory_store(clock);
  Engine engine(*store, clock, random);
  auto policy = std::make_shared<const Policy>();
  auto info = std::make_shared<const RequestInfo>(RequestInfo{"t", "op", "", {}});
  std::atomic<int> wrong{0};
  executed = 0;
  std::deque<std::latch> latches;  // these outlive the threads that may still be returning from them
  std::vector<std::unique_ptr<Kick>> done;
  {
    std::array<std::unique_ptr<ThreadExecutor>, thread_count> executors;
    for (auto& executor : executors) executor = std::make_unique<ThreadExecutor>(clock);
    for (int round = 0; round < rounds; ++round) {
      std::latch& left = latches.emplace_back(thread_count * callers_per_thread);
      std::vector<std::unique_ptr<Kick>> kicks;
      for (int t = 0; t < thread_count; ++t) {
        kicks.push_back(std::make_unique<Kick>([&, t, round] {
          for (int i = 0; i < callers_per_thread; ++i) {
            Command command;
            command.scope = scope_of("t", "c", "op", "k" + std::to_string(round), "");
            command.fingerprint = {1, Digest{sha256("body")}};
            command.request = info;
            command.policy = policy;
            command.wait = i == 5 ? Duration(0) : Duration(i == 4 ? 60'000 : 10'000);
            const bool retry_first = round % 3 == 0 && i == 0;
            auto work = std::make_shared<QuickWork>(*executors[static_cast<std::size_t>(t)], clock,
                                                    retry_first ? 503 : 201, round % 2 == 0);
            spawn(ask({engine, clock, left, wrong}, *executors[static_cast<std::size_t>(t)],
                      std::move(command), std::move(work)));
          }
        }));
      }
      for (int t = 0; t < thread_count; ++t)
        executors[static_cast<std::size_t>(t)]->post(kicks[static_cast<std::size_t>(t)].get());
      left.wait();
      std::ranges::move(kicks, std::back_inserter(done));
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(executed, rounds);
  EXPECT_EQ(engine.flights(), 0u);
  EXPECT_EQ(engine.executions(), 0u);
}

}  // namespace
}  // namespace onceward::testing
