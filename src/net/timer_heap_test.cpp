#include "net/timer_heap.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace onceward::net {
namespace {

MonoTime at(int n) { return MonoTime(std::chrono::milliseconds(n)); }

struct Counting : Timer {
  Counting() {
    run = [](Timer* self) { ++static_cast<Counting*>(self)->fired; };
  }
  int fired = 0;
};

TEST(TimerHeap, FiresWhatIsDueAndNothingElse) {
  TimerHeap heap;
  Counting early, late, moved, cancelled;
  heap.arm(early, at(10));
  heap.arm(late, at(30));
  heap.arm(moved, at(10));
  heap.arm(moved, at(20));  // later: only noted
  heap.arm(cancelled, at(10));
  heap.cancel(cancelled);
  heap.cancel(cancelled);
  heap.fire(at(9));
  EXPECT_EQ(early.fired, 0);
  heap.fire(at(10));
  EXPECT_EQ(early.fired, 1);
  EXPECT_EQ(moved.fired, 0);
  heap.arm(late, at(15));  // sooner
  heap.fire(at(20));
  EXPECT_EQ(moved.fired, 1);
  EXPECT_EQ(late.fired, 1);
  EXPECT_EQ(cancelled.fired, 0);
  EXPECT_FALSE(heap.next());
}

TEST(TimerHeap, AgreesWithAPlainListUnderRandomUse) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  TimerHeap heap;
  std::vector<Counting> timers(50);
  std::vector<int> due(50, -1);
  for (int now = 0; now < 2000; ++now) {
    const std::size_t i = random() % timers.size();
    if (random() % 4 == 0) {
      heap.cancel(timers[i]);
      due[i] = -1;
    } else {
      due[i] = now + static_cast<int>(random() % 100);
      heap.arm(timers[i], at(due[i]));
    }
    heap.fire(at(now));
    for (std::size_t j = 0; j < timers.size(); ++j) {
      const bool should = due[j] >= 0 && due[j] <= now;
      ASSERT_EQ(timers[j].fired, should ? 1 : 0) << "timer " << j << " at " << now;
      if (should) due[j] = -1;
      timers[j].fired = 0;
    }
  }
  for (Counting& timer : timers) heap.cancel(timer);
}

}  // namespace
}  // namespace onceward::net
