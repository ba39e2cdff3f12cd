#include "stores/embedded/rounds.hpp"

#include <gtest/gtest.h>

#include "stores/embedded/write_queue.hpp"

namespace onceward::embedded {
namespace {

class RoundExecutor final : public Executor {
 public:
  void post(Completion*) override {}
  void arm(Timer&, MonoTime) override {}
  void cancel(Timer&) override {}
  bool can_defer() const override { return here; }
  void defer(Deferred& deferred) override { deferred_.add(deferred); }
  void undefer(Deferred& deferred) override { deferred_.remove(deferred); }
  void end_round() { deferred_.run(); }
  bool has_deferred() const { return !deferred_.empty(); }

  bool here = true;

 private:
  DeferredList deferred_;
};

class RoundsTest : public testing::Test, protected Rounds::Client {
 protected:
  bool add(Executor* executor, std::string bytes = "a record") {
    writes_.push_back(std::make_unique<Write>());
    writes_.back()->executor = executor;
    writes_.back()->bytes = std::move(bytes);
    return rounds_.add(writes_.back().get());
  }
  Write* written(std::size_t number) { return writes_[number].get(); }

  void on_turn(OwnRing&) override { FAIL() << "nobody gave it"; }
  void on_end(OwnRing&, bool) override { FAIL() << "nothing was begun"; }
  void hand_over(OwnRing& own, Write* newest, Write* oldest) override {
    EXPECT_FALSE(own.is_open()) << "its executor watches no files";
    had_turn_ = std::exchange(own.holds_turn, false);
    std::vector<Write*> batch;
    if (newest) {
      EXPECT_EQ(&own, rounds_.own_ring_of(newest->executor));
      WriteQueue queue;
      queue.push(newest, oldest);
      for (Write* write = queue.take(); write; write = write->next) batch.push_back(write);
    }
    handed_over_.push_back(std::move(batch));
  }

  using Batches = std::vector<std::vector<Write*>>;
  Batches handed_over_;
  bool had_turn_ = false;  // when that was handed over last
  Rounds rounds_{*this};

 private:
  std::vector<std::unique_ptr<Write>> writes_;
};

TEST_F(RoundsTest, HandsARoundOverInOneGoAndInOrder) {
  RoundExecutor executor;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(add(&executor));
  EXPECT_TRUE(handed_over_.empty());
  executor.end_round();
  EXPECT_EQ(handed_over_, (Batches{{written(0), written(1), written(2)}}));
  executor.end_round();
  EXPECT_EQ(handed_over_.size(), 1u);
  EXPECT_TRUE(add(&executor));
  executor.end_round();
  ASSERT_EQ(handed_over_.size(), 2u);
  EXPECT_EQ(handed_over_[1], std::vector{written(3)});
}

TEST_F(RoundsTest, EachExecutorHasRoundsOfItsOwn) {
  RoundExecutor one, other;
  EXPECT_TRUE(add(&one));
  EXPECT_TRUE(add(&other));
  other.end_round();
  EXPECT_EQ(handed_over_, (Batches{{written(1)}}));
  one.end_round();
  EXPECT_EQ(handed_over_.back(), std::vector{written(0)});
}

TEST_F(RoundsTest, ALongRoundDoesNotKeepTheDiskWaiting) {
  RoundExecutor executor;
  EXPECT_TRUE(add(&executor, std::string(Rounds::enough_bytes - 1, 'x')));
  EXPECT_TRUE(handed_over_.empty());
  EXPECT_TRUE(add(&executor, "x"));
  EXPECT_EQ(handed_over_, (Batches{{written(0), written(1)}}));
  EXPECT_FALSE(executor.has_deferred()) << "the store may be gone by the round's end";
}

TEST_F(RoundsTest, ATurnIsHeldUntilTheRoundEnds) {
  RoundExecutor executor;
  EXPECT_TRUE(add(&executor));
  executor.end_round();
  EXPECT_FALSE(had_turn_);
  OwnRing& own = *rounds_.own_ring_of(&executor);
  EXPECT_TRUE(rounds_.hold_turn(own));
  executor.end_round();
  EXPECT_TRUE(had_turn_);
  EXPECT_EQ(handed_over_, (Batches{{written(0)}, {}}));

  EXPECT_TRUE(rounds_.hold_turn(own));
  EXPECT_TRUE(add(&executor, std::string(Rounds::enough_bytes, 'x')));
  EXPECT_TRUE(had_turn_) << "it ends early with so much";
  EXPECT_FALSE(executor.has_deferred());

  executor.here = false;
  EXPECT_FALSE(rounds_.hold_turn(own)) << "there is no round any more";
}

TEST_F(RoundsTest, TakesNothingFromThoseWhoHaveNoRounds) {
  RoundExecutor elsewhere;
  elsewhere.here = false;
  EXPECT_FALSE(add(&elsewhere));
  EXPECT_FALSE(add(nullptr));
}

TEST_F(RoundsTest, RefusesWhenThereAreTooManyExecutors) {
  std::vector<std::unique_ptr<RoundExecutor>> executors;
  std::size_t taken = 0;
  for (int i = 0; i < 1000; ++i) {
    executors.push_back(std::make_unique<RoundExecutor>());
    if (add(executors.back().get())) ++taken;
  }
  EXPECT_GE(taken, 64u);
  EXPECT_LT(taken, 1000u);
  for (auto& executor : executors) executor->end_round();
  EXPECT_EQ(handed_over_.size(), taken);
}

}  // namespace
}  // namespace onceward::embedded
