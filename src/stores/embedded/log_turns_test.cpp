// Who writes the log: callers whose threads have a loop do it themselves, one at a time, and whatever happens
// to one of them the others are served and nothing is lost.
#include <atomic>
#include <thread>

#include "stores/embedded/faulty_file_ops.hpp"
#include "stores/embedded/store_fixture.hpp"

namespace onceward::embedded {
namespace {

using namespace std::chrono_literals;

class LogTurnsTest : public EmbeddedTest {
 protected:
  LogTurnsTest() {
    options_.file_ops = &ops_;
    options_.segment_bytes = 1 << 20;
    writes_ = Writes::here;
  }
  void TearDown() override { close(); }  // its threads use ops_

  // A claim whose reply nobody has waited for.
  struct Begun : Reply<ClaimReply> {
    Begun(Store& store, Executor& executor, ClaimRequest wanted)
        : Reply<ClaimReply>(executor), request(std::move(wanted)) {
      run = [](Completion* self) { static_cast<Begun*>(self)->done = true; };
      done = store.claim(request, *this);
    }
    ClaimRequest request;
    bool done = false;
  };

  // Leaves `executor` with the turn, nothing begun, and `waiting` in the queue.
  void hold_turn(testing::PollingExecutor& executor, std::unique_ptr<Begun>& waiting) {
    Begun first(*store_, executor, request("first of " + waiting_key));
    executor.end_round();
    waiting = std::make_unique<Begun>(*store_, executor, request(waiting_key));
    executor.end_round();  // queued behind the one under way
    while (!first.done) executor.run_round();
    ASSERT_FALSE(waiting->done);
  }
  const std::string waiting_key = "waiting";

  FaultyFileOps ops_;
};

TEST_F(LogTurnsTest, ACallerWithALoopWritesItself) {
  open();
  must_complete("first", "goes to the log's thread: what stands before it has to be read");
  const std::uint64_t before = ops_.begun();
  for (int i = 0; i < 50; ++i) must_complete("k" + std::to_string(i), "x");
  EXPECT_EQ(ops_.begun() - before, 100u);
}

TEST_F(LogTurnsTest, ACallerWithoutOneHasItWritten) {
  writes_ = Writes::elsewhere;
  open();
  for (int i = 0; i < 50; ++i) must_complete("k" + std::to_string(i), "x");
  EXPECT_EQ(ops_.begun(), 0u);
}

TEST_F(LogTurnsTest, WhatTheKernelDoesNotTakeIsWrittenByTheLogsThread) {
  open();
  for (int i = 0; i < 60; ++i) {
    ops_.refuse_rings(i / 10 % 2 == 1);
    must_complete("k" + std::to_string(i), "body " + std::to_string(i));
  }
  EXPECT_GT(ops_.begun(), 0u);
  for (int restart = 0; restart < 2; ++restart) {
    for (int i = 0; i < 60; ++i) EXPECT_EQ(body_of("k" + std::to_string(i)), "body " + std::to_string(i));
    open();
  }
}

TEST_F(LogTurnsTest, ARoundIsOneWrite) {
  open();
  must_complete("first", "");
  const std::uint64_t before = ops_.begun();
  testing::PollingExecutor executor;
  std::vector<std::unique_ptr<Begun>> claims;
  for (int i = 0; i < 20; ++i)
    claims.push_back(std::make_unique<Begun>(*store_, executor, request("k" + std::to_string(i))));
  for (const auto& claim : claims) {
    while (!claim->done) executor.run_round();
    EXPECT_TRUE(claim->value && claim->value->granted);
  }
  EXPECT_EQ(ops_.begun() - before, 1u);
}

// What waited while the disk was busy goes with what comes before the round ends.
TEST_F(LogTurnsTest, ATurnIsHeldUntilTheRoundEnds) {
  open();
  must_complete("first", "");
  testing::PollingExecutor executor;
  std::unique_ptr<Begun> waiting;
  hold_turn(executor, waiting);
  const std::uint64_t before = ops_.begun();
  Begun another(*store_, executor, request("another"));
  while (!waiting->done || !another.done) executor.run_round();
  EXPECT_TRUE(waiting->value && waiting->value->granted);
  EXPECT_TRUE(another.value && another.value->granted);
  EXPECT_EQ(ops_.begun() - before, 1u);
}

TEST_F(LogTurnsTest, AThreadThatEndsHoldsNoTurn) {
  open();
  must_complete("first", "");
  std::unique_ptr<Begun> waiting;
  {
    testing::PollingExecutor executor;
    hold_turn(executor, waiting);
  }
  EXPECT_EQ(body_of(waiting_key), "processing");
  must_complete("after", "x");
}

TEST_F(LogTurnsTest, AStoreIsClosedOnlyWhenTheTurnIsGivenBack) {
  open();
  must_complete("first", "");
  testing::PollingExecutor executor;
  std::unique_ptr<Begun> waiting;
  hold_turn(executor, waiting);
  std::jthread closing([this] { close(); });
  while (!waiting->done) executor.run_round();
  EXPECT_TRUE(waiting->value);
  closing.join();
  open();
  EXPECT_EQ(body_of(waiting_key), "unknown");
}

// The caller's thread ends with a write under way: it is waited for, and the turn goes on.
TEST_F(LogTurnsTest, AThreadThatEndsLeavesNothingBehind) {
  open();
  must_complete("first", "");
  for (int i = 0; i < 30; ++i) {
    const std::string key = "left " + std::to_string(i);
    std::unique_ptr<Begun> left;
    {
      testing::PollingExecutor executor;
      left = std::make_unique<Begun>(*store_, executor, request(key));
      ASSERT_FALSE(left->done);
      executor.end_round();
    }
    EXPECT_EQ(body_of(key), "processing");
    must_complete("after " + std::to_string(i), "x");
  }
  open();
  for (int i = 0; i < 30; ++i) EXPECT_EQ(body_of("left " + std::to_string(i)), "unknown");
}

// What it had handed over meanwhile cannot be begun by it any more.
TEST_F(LogTurnsTest, AThreadThatEndsLeavesWhatWaitsToOthers) {
  open();
  must_complete("first", "");
  testing::PollingExecutor executor;
  std::vector<std::unique_ptr<Begun>> left;
  for (int i = 0; i < 3; ++i) {
    left.push_back(std::make_unique<Begun>(*store_, executor, request("left " + std::to_string(i))));
    ASSERT_FALSE(left.back()->done);
    executor.end_round();
  }
  executor.end();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(body_of("left " + std::to_string(i)), "processing");
  must_complete("after", "x");
}

// A verb that waited for a write brings one itself when that ends, with the thread it came from.
TEST_F(LogTurnsTest, AThreadThatEndsLeavesNoScopeHeld) {
  open();
  must_complete("first", "");
  testing::PollingExecutor executor;
  const Begun claim(*store_, executor, request("left"));
  executor.end_round();
  const RenewRequest renewal{{claim.request.scope, claim.request.operation_id, 1, claim.request.owner}, 30s};
  Reply<Record> renewed(executor);
  renewed.run = [](Completion*) {};
  EXPECT_FALSE(store_->renew(renewal, renewed));
  executor.end();
  EXPECT_EQ(body_of("left"), "processing");
  must_complete("after", "x");
}

// Two callers hand the turn to each other; the one that is busy elsewhere keeps nobody waiting for long.
TEST_F(LogTurnsTest, TheTurnGoesToWhoeverHasSomethingToWrite) {
  open();
  must_complete("first", "");
  testing::PollingExecutor one;
  Begun first(*store_, one, request("one"));
  one.end_round();  // begun; the turn is here
  std::atomic<bool> is_handed_over = false;
  std::jthread other([&] {
    testing::PollingExecutor executor;
    Begun second(*store_, executor, request("other"));
    executor.end_round();
    is_handed_over = true;
    while (!second.done) executor.run_round();
    EXPECT_TRUE(second.value && second.value->granted);
  });
  while (!is_handed_over) std::this_thread::yield();
  const std::uint64_t before = ops_.begun();
  while (!first.done) one.run_round();
  one.end_round();
  other.join();
  EXPECT_EQ(ops_.begun() - before, 1u) << "the other's write is its own to begin";
}

TEST_F(LogTurnsTest, WhateverKindOfCallerEveryPairIsThereAfterwards) {
  options_.segment_bytes = 64 << 10;  // the next one is begun again and again
  open();
  constexpr int threads = 4;
  constexpr int pairs = 300;
  const auto key_of = [](int t, int i) { return std::to_string(t) + "/" + std::to_string(i); };
  {
    std::vector<std::jthread> callers;
    for (int t = 0; t < threads; ++t) {
      callers.emplace_back([&, t] {
        std::optional<Caller> caller;
        for (int i = 0; i < pairs; ++i) {
          if (i % 50 == 0) caller.emplace(*store_, (t + i / 50) % 4 == 0 ? Writes::elsewhere : Writes::here);
          const Result<ClaimReply> mine = caller->claim(request(key_of(t, i)));
          ASSERT_TRUE(mine && mine->granted) << (mine ? "" : mine.error().message);
          ASSERT_TRUE(caller->complete(mine->record, key_of(t, i) + std::string(200, 'x')));
        }
      });
    }
  }
  EXPECT_GT(ops_.begun(), 0u);
  for (int restart = 0; restart < 2; ++restart) {
    for (int t = 0; t < threads; ++t)
      for (int i = 0; i < pairs; ++i) ASSERT_EQ(body_of(key_of(t, i)), key_of(t, i) + std::string(200, 'x'));
    open();
  }
}

}  // namespace
}  // namespace onceward::embedded
