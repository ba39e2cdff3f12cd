#include "net/worker.hpp"

#include <gtest/gtest.h>

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/await.hpp"
#include "net/stream.hpp"
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

// What is told of a file, and by which thread.
struct Told : FileWatch {
  Told() : file(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    run = [](FileWatch* self) {
      Told& told = *static_cast<Told*>(self);
      told.by = std::this_thread::get_id();
      ++told.times;
      told.times.notify_all();
    };
    ended = [](FileWatch* self) { ++static_cast<Told*>(self)->ends; };
  }
  ~Told() { ::close(file); }
  void write() const {
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(file, &one, sizeof one), 8);
  }
  const int file;
  std::thread::id by;
  std::atomic<int> times = 0;
  std::atomic<int> ends = 0;
};

TEST(Worker, TellsEachTimeThatAFileHasSomethingToRead) {
  WorkerThread worker;
  Told told;
  std::thread::id thread;
  worker.run([&] {
    thread = std::this_thread::get_id();
    EXPECT_TRUE((*worker).watch(told.file, told));
  });
  for (int i = 0; i < 3; ++i) {
    told.write();
    told.times.wait(i);
    EXPECT_EQ(told.by, thread);
  }
  told.stop();
}

TEST(Worker, TellsNothingOnceItIsNotWatched) {
  WorkerThread worker;
  Told told;
  worker.run([&] {
    EXPECT_TRUE((*worker).watch(told.file, told));
    told.write();  // fetched by the next look, if it still is of interest then
  });
  told.stop();
  const int before = told.times;
  for (int i = 0; i < 100; ++i) told.write();
  worker.run([] {});
  EXPECT_EQ(told.times, before);
  Told next;  // what is over makes room
  worker.run([&] { EXPECT_TRUE((*worker).watch(next.file, next)); });
  next.write();
  next.times.wait(0);
  next.stop();
  EXPECT_EQ(told.ends + next.ends, 0);
}

TEST(Worker, TellsThatItsThreadEnds) {
  Told told;
  {
    WorkerThread worker;
    worker.run([&] { EXPECT_TRUE((*worker).watch(told.file, told)); });
  }
  EXPECT_EQ(told.ends, 1);
}

TEST(Worker, WhoStopsWatchingWaitsForTheCallThatIsUnderWay) {
  struct Slow : Told {
    std::atomic<bool> is_ending = false;
    std::atomic<bool> is_stopping = false;
    std::atomic<bool> is_over = false;
  } slow;
  slow.ended = [](FileWatch* self) {
    Slow& its = *static_cast<Slow*>(self);
    its.is_ending = true;
    its.is_ending.notify_all();
    its.is_stopping.wait(false);
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    its.is_over = true;
  };
  auto worker = std::make_unique<WorkerThread>();
  worker->run([&] { EXPECT_TRUE((**worker).watch(slow.file, slow)); });
  std::jthread ender([&] { worker.reset(); });
  slow.is_ending.wait(false);
  slow.is_stopping = true;
  slow.is_stopping.notify_all();
  slow.stop();
  EXPECT_TRUE(slow.is_over);
}

TEST(Worker, SaysWhenItCannotWatch) {
  WorkerThread worker;
  Told told;
  worker.run([&] { EXPECT_FALSE((*worker).watch(-1, told)); });
  told.stop();
  EXPECT_EQ(told.ends, 0);
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

Task<> hear_then_go_on(Stream& stream, std::string name, std::vector<std::string>& seen,
                       std::promise<void>& both_done) {
  co_await stream.readable(MonoTime::max());
  seen.push_back(name + " hears");
  co_await RoundEnd(stream.worker(), Leaving::answer);
  seen.push_back(name + " goes on");
  if (seen.size() == 4) both_done.set_value();
}

TEST(Worker, LetsAllHearWhatItFoundBeforeTheFirstGoesOn) {
  WorkerThread worker;
  std::array<int, 2> one{}, other{};
  for (auto* pair : {&one, &other})
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair->data()), 0);
  std::unique_ptr<Stream> first, second;
  std::vector<std::string> seen;
  std::promise<void> both_done;
  worker.run([&] {
    first = std::make_unique<Stream>(*worker, one[0]);
    second = std::make_unique<Stream>(*worker, other[0]);
    spawn(hear_then_go_on(*first, "the first", seen, both_done));
    spawn(hear_then_go_on(*second, "the second", seen, both_done));
  });
  worker.run([&] {  // both while the loop is here: its next look finds them together
    ASSERT_EQ(::write(one[1], "x", 1), 1);
    ASSERT_EQ(::write(other[1], "x", 1), 1);
  });
  both_done.get_future().get();
  worker.run([&] {
    first.reset();
    second.reset();
  });
  for (const int fd : {one[1], other[1]}) ::close(fd);
  const std::vector<std::string> in_order = {"the first hears", "the second hears", "the first goes on",
                                             "the second goes on"};
  EXPECT_EQ(seen, in_order);
}

Task<> say(Worker& worker, Leaving what, std::string name, std::vector<std::string>& said) {
  co_await RoundEnd(worker, what);
  said.push_back(std::move(name));
}

TEST(Worker, LetsRequestsLeaveBeforeAnswers) {
  WorkerThread worker;
  std::vector<std::string> said;
  worker.run([&] {
    spawn(say(*worker, Leaving::answer, "an answer", said));
    spawn(say(*worker, Leaving::request, "a request", said));
    spawn(say(*worker, Leaving::answer, "another answer", said));
    (*worker).call([&] { said.emplace_back("the next round"); });
  });
  worker.run([] {});
  EXPECT_EQ(said, (std::vector<std::string>{"a request", "an answer", "another answer", "the next round"}));
}

class PairOfStreams {
 public:
  explicit PairOfStreams(WorkerThread& worker) : worker_(worker) {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends_.data()), 0);
    worker_.run([&] { here = std::make_unique<Stream>(*worker_, ends_[0]); });
    worker_.run([] {});  // the loop has looked: it was told that there is room to write
  }
  ~PairOfStreams() {
    worker_.run([&] { here.reset(); });
    close_peer();
  }
  void say() { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  void close_peer() {
    if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
  }

  std::unique_ptr<Stream> here;

 private:
  WorkerThread& worker_;
  std::array<int, 2> ends_{};
};

// What was seen long ago is not what is.
MonoTime in_seconds(int count) { return Worker::now() + std::chrono::seconds(count); }

TEST(Worker, LooksAnewToKnowWhetherAConnectionIsStill) {
  WorkerThread worker;
  for (const bool closes : {true, false}) {
    PairOfStreams pair(worker), other(worker);
    worker.run([&] {
      EXPECT_TRUE(pair.here->is_still(in_seconds(1)));
      other.say();
      EXPECT_TRUE(pair.here->is_still(in_seconds(2)));
      if (closes)
        pair.close_peer();
      else
        pair.say();
      EXPECT_FALSE(pair.here->is_still(in_seconds(3)));
      EXPECT_TRUE(other.here->quiet());
      EXPECT_FALSE(other.here->is_still(in_seconds(4)));
    });
  }
}

TEST(Worker, DoesNotTakeALookForAnAnswerThatWasBeforeTheConnectionWasIdle) {
  WorkerThread worker;
  PairOfStreams pair(worker);
  worker.run([&] {
    const MonoTime now = Worker::now();
    EXPECT_TRUE(pair.here->is_still(now));
    pair.here->begins_idle();
    pair.close_peer();
    EXPECT_FALSE(pair.here->is_still(now));
  });
}

TEST(Worker, AsksTheConnectionItselfWhenALookCannotTakeAllThatHasCome) {
  WorkerThread worker;
  std::vector<std::unique_ptr<PairOfStreams>> others;
  for (int i = 0; i < 200; ++i) others.push_back(std::make_unique<PairOfStreams>(worker));
  PairOfStreams pair(worker);
  worker.run([&] {
    for (auto& other : others) other->say();
    EXPECT_TRUE(pair.here->is_still(in_seconds(1)));
    pair.close_peer();
    EXPECT_FALSE(pair.here->is_still(in_seconds(2)));
  });
}

TEST(Worker, TellsWhatALookHasFoundInItsOrder) {
  WorkerThread worker;
  PairOfStreams first(worker), second(worker), idle(worker);
  std::vector<std::string> seen;
  std::promise<void> both_done;
  worker.run([&] {
    spawn(hear_then_go_on(*first.here, "the first", seen, both_done));
    spawn(hear_then_go_on(*second.here, "the second", seen, both_done));
    first.say();
    EXPECT_TRUE(idle.here->is_still(in_seconds(1)));
    second.say();
    EXPECT_TRUE(idle.here->is_still(in_seconds(2)));
    EXPECT_TRUE(seen.empty());
  });
  both_done.get_future().get();
  EXPECT_EQ(seen.front(), "the first hears");
}

// Two events of one connection may wait to be told; hearing of the first is not hearing of the second.
Task<> ask_when_heard(Stream& stream, Stream& about, bool& is_still, std::promise<void>& done) {
  co_await stream.readable(MonoTime::max());
  is_still = about.is_still(in_seconds(10));
  done.set_value();
}

TEST(Worker, DoesNotForgetNewsBehindNews) {
  WorkerThread worker;
  PairOfStreams idle(worker), asking(worker), other(worker);
  bool is_still = true;
  std::promise<void> done;
  worker.run([&] {
    spawn(ask_when_heard(*asking.here, *idle.here, is_still, done));
    // Once what was said has been read, its event tells of room to write only.
    idle.say();
    std::array<char, 16> into{};
    EXPECT_EQ(idle.here->try_read(into).bytes, 1U);
    EXPECT_TRUE(other.here->is_still(in_seconds(1)));
    asking.say();
    EXPECT_TRUE(other.here->is_still(in_seconds(2)));
    idle.close_peer();
    EXPECT_TRUE(other.here->is_still(in_seconds(3)));
  });
  done.get_future().get();
  EXPECT_FALSE(is_still);
}

Task<> say_twice(Worker& worker, std::promise<void>& done) {
  co_await RoundEnd(worker, Leaving::answer);
  co_await RoundEnd(worker, Leaving::answer);
  done.set_value();
}

// As requests that came together make them.
TEST(Worker, AnAnswerBehindAnAnswerNeedsNoEvent) {
  std::promise<void> done;
  WorkerThread worker;
  worker.run([&] { spawn(say_twice(*worker, done)); });
  done.get_future().get();
}

struct Noted : Deferred {
  explicit Noted(std::vector<std::string>& where) : seen(where) {
    run = [](Deferred* self) { static_cast<Noted*>(self)->seen.emplace_back("deferred"); };
  }
  std::vector<std::string>& seen;
};

void wait_for(const Noted& noted, WorkerThread& worker) {
  for (bool has_run = false; !has_run;) worker.run([&] { has_run = !noted.pending; });
}

TEST(Worker, RunsWhatIsDeferredOnceAndWhenNothingIsReady) {
  WorkerThread worker;
  std::vector<std::string> seen;
  Noted noted(seen);
  worker.run([&] {
    (*worker).call([&] { seen.emplace_back("the next round"); });
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE((*worker).can_defer());
      (*worker).defer(noted);
    }
    seen.emplace_back("this round");
  });
  wait_for(noted, worker);
  EXPECT_EQ(seen, (std::vector<std::string>{"this round", "the next round", "deferred"}));
  worker.run([&] { (*worker).defer(noted); });
  wait_for(noted, worker);
  EXPECT_EQ(seen.size(), 4u) << "it can be deferred again";
}

TEST(Worker, RunsWhatIsDeferredAlthoughThereIsAlwaysSomethingReady) {
  WorkerThread worker;
  std::vector<std::string> seen;
  Noted noted(seen);
  std::promise<void> ran;
  std::function<void()> again = [&] {
    if (seen.empty()) return (*worker).call(again);
    ran.set_value();
  };
  worker.run([&] {
    (*worker).defer(noted);
    (*worker).call(again);
  });
  EXPECT_EQ(ran.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

TEST(Worker, DoesNotRunWhatIsTakenBack) {
  WorkerThread worker;
  std::vector<std::string> seen;
  Noted kept(seen), taken_back(seen), kept_too(seen);
  worker.run([&] {
    for (Noted* const noted : {&kept, &taken_back, &kept_too}) (*worker).defer(*noted);
    (*worker).undefer(taken_back);
    (*worker).undefer(taken_back);
  });
  wait_for(kept, worker);
  wait_for(kept_too, worker);
  worker.run([&] { EXPECT_EQ(seen.size(), 2u); });
}

TEST(Worker, EndsOnlyWhenWhatIsDeferredHasRun) {
  std::vector<std::string> seen;
  Noted noted(seen);
  {
    WorkerThread worker;
    worker.run([&] {
      (*worker).stop();
      (*worker).defer(noted);
    });
  }
  EXPECT_EQ(seen.size(), 1u);
}

TEST(Worker, DefersOnItsOwnThreadOnly) {
  WorkerThread worker;
  EXPECT_FALSE((*worker).can_defer());
  worker.run([&] { EXPECT_TRUE((*worker).can_defer()); });
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
