#include "net/worker.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "base/await.hpp"
#include "net/testing.hpp"
#include "net/wait_list.hpp"

namespace onceward::net {
namespace {

using namespace testing;
using namespace std::chrono_literals;

struct Note : Completion {
  std::vector<int>* list = nullptr;
  int number = 0;
};

TEST(Worker, RunsAPostedChainInItsOrder) {
  WorkerThread worker;
  std::vector<int> seen;
  std::vector<Note> notes(100);
  for (std::size_t i = 0; i < notes.size(); ++i) {
    notes[i].list = &seen;
    notes[i].number = static_cast<int>(i);
    notes[i].next = i + 1 < notes.size() ? &notes[i + 1] : nullptr;
    notes[i].run = [](Completion* self) {
      Note* note = static_cast<Note*>(self);
      note->list->push_back(note->number);
    };
  }
  (*worker).post(&notes.front());
  worker.run([] {});  // posted after the chain, so run after it
  ASSERT_EQ(seen.size(), notes.size());
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<int>(i));
}

TEST(Worker, KnowsTheTimeOfItsLastLookWithoutAsking) {
  const MonoTime before = Worker::now();
  EXPECT_GE(Worker::recently(), before);  // no loop runs here: the clock is asked
  WorkerThread worker;
  MonoTime first{};
  worker.run([&] {
    first = Worker::recently();
    while (Worker::now() <= first) continue;
    EXPECT_EQ(Worker::recently(), first);
  });
  worker.run([&] { EXPECT_GT(Worker::recently(), first); });
  EXPECT_GE(first, before);
}

TEST(Worker, LosesNothingThatManyThreadsPost) {
  WorkerThread worker;
  int count = 0;
  constexpr int each = 2000;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < each; ++i) (*worker).call([&] { ++count; });
      });
  }
  worker.run([] {});
  EXPECT_EQ(count, 4 * each);
}

TEST(Worker, PostsFromItsOwnThreadAreRunToo) {
  WorkerThread worker;
  std::promise<void> done;
  (*worker).call([&] { (*worker).call([&] { (*worker).call([&] { done.set_value(); }); }); });
  EXPECT_EQ(done.get_future().wait_for(30s), std::future_status::ready);
}

TEST(Worker, SleepersWakeInTheOrderOfTheirTimes) {
  WorkerThread worker;
  std::vector<int> order;
  std::promise<void> done;
  worker.run([&] {
    const MonoTime now = Worker::now();
    for (const int ms : {30, 10, 20}) {
      spawn([](Worker& on, MonoTime until, int number, std::vector<int>& list,
               std::promise<void>& end) -> Task<> {
        co_await SleepUntil(on, until);
        EXPECT_GE(Worker::now(), until);
        list.push_back(number);
        if (list.size() == 3) end.set_value();
      }(*worker, now + std::chrono::milliseconds(ms), ms, order, done));
    }
  });
  ASSERT_EQ(done.get_future().wait_for(30s), std::future_status::ready);
  EXPECT_EQ(order, (std::vector<int>{10, 20, 30}));
}

TEST(WaitList, WakesInOrderAndGivesUpAtTheDeadline) {
  WorkerThread worker;
  std::vector<int> order;
  std::promise<void> done;
  std::unique_ptr<WaitList> list;
  worker.run([&] {
    list = std::make_unique<WaitList>(*worker);
    for (int i = 0; i < 3; ++i) {
      spawn([](WaitList& waiting, int number, std::vector<int>& woken, std::promise<void>& end) -> Task<> {
        const MonoTime deadline = number == 1 ? Worker::now() + 5ms : MonoTime::max();
        const bool was_woken = co_await waiting.wait(deadline);
        woken.push_back(was_woken ? number : -number);
        if (!was_woken) waiting.wake_all();
        if (woken.size() == 3) end.set_value();
      }(*list, i, order, done));
    }
  });
  ASSERT_EQ(done.get_future().wait_for(30s), std::future_status::ready);
  worker.run([&] {
    EXPECT_EQ(order, (std::vector<int>{-1, 0, 2}));
    list.reset();
  });
}

}  // namespace
}  // namespace onceward::net
