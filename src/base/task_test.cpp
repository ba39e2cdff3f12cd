#include "base/task.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

// Resumed by hand, so that a task can be seen waiting.
struct Gate {
  std::coroutine_handle<> waiting;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) noexcept { waiting = handle; }
  void await_resume() const noexcept {}
};

Task<int> after(Gate& gate, int value) {
  co_await gate;
  co_return value;
}

Task<> add(Task<int> part, int& sum) { sum += co_await part; }

TEST(Task, ThatIsReadyCanBeReadOrAwaited) {
  Task<int> ready = Task<int>::ready(7);
  EXPECT_EQ(ready.now(), 7);
  int sum = 1;
  spawn(add(std::move(ready), sum));
  EXPECT_EQ(sum, 8);
}

TEST(Task, ThatMustWaitHasNoValueYet) {
  Gate gate;
  Task<int> waits = after(gate, 7);
  EXPECT_EQ(waits.now(), std::nullopt);
  int sum = 1;
  spawn(add(std::move(waits), sum));
  EXPECT_EQ(sum, 1);
  gate.waiting.resume();
  EXPECT_EQ(sum, 8);
}

}  // namespace
}  // namespace onceward
