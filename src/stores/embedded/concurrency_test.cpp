// Many threads on few keys, with purging and listing beside them: each key is executed by one at a time,
// and every duplicate gets the outcome that its executor stored.
#include <atomic>
#include <thread>

#include "stores/embedded/faulty_file_ops.hpp"
#include "stores/embedded/store_fixture.hpp"

namespace onceward::embedded {
namespace {

using namespace std::chrono_literals;

class ConcurrencyTest : public EmbeddedTest, public ::testing::WithParamInterface<Writes> {
 protected:
  ConcurrencyTest() {
    writes_ = GetParam();
    // Callers write themselves what is to be synced; nothing here cuts the power.
    if (writes_ == Writes::elsewhere) options_.durability = Durability::process;
    options_.file_ops = &ops_;
    options_.segment_bytes = 128 << 10;
  }
  void TearDown() override {
    close();  // its threads use ops_
    if (writes_ == Writes::here) EXPECT_GT(ops_.begun(), 0u) << "nobody wrote anything himself";
  }

  FaultyFileOps ops_;
};

INSTANTIATE_TEST_SUITE_P(ByTheLogsThread, ConcurrencyTest, ::testing::Values(Writes::elsewhere));
INSTANTIATE_TEST_SUITE_P(ByTheCallers, ConcurrencyTest, ::testing::Values(Writes::here));

TEST_P(ConcurrencyTest, OfManyClaimsOfOneKeyOneIsGranted) {
  open();
  constexpr int threads = 4;
  constexpr int keys = 300;
  std::vector<std::atomic<int>> granted(keys);
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        Caller caller(*store_, writes_);
        for (int i = 0; i < keys; ++i) {
          const std::string key = "k" + std::to_string(i);
          const Result<ClaimReply> reply = caller.claim(request(key, "owner" + std::to_string(t)));
          ASSERT_TRUE(reply) << reply.error().message;
          if (reply->granted) {
            ++granted[static_cast<std::size_t>(i)];
            ASSERT_TRUE(caller.complete(reply->record, "by " + std::to_string(t)));
          }
        }
      });
    }
  }
  for (int i = 0; i < keys; ++i) EXPECT_EQ(granted[static_cast<std::size_t>(i)].load(), 1) << i;
  EXPECT_EQ(caller_->stats().records, static_cast<std::uint64_t>(keys));
  EXPECT_EQ(caller_->stats().open_records, 0u);
}

TEST_P(ConcurrencyTest, PairsPurgesListsAndRestartsDoNotDisturbEachOther) {
  open();
  // The clock runs as fast as housekeeping does, however long a worker is kept from running in between: no
  // lease may end in the 100 s that it can advance in all.
  const auto long_request = [this](const std::string& key, const std::string& owner) {
    ClaimRequest wanted = request(key, owner);
    wanted.lease = 10min;
    return wanted;
  };
  std::atomic<bool> done{false};
  {
    std::jthread house([&] {
      Caller caller(*store_);
      testing::BlockingExecutor executor;
      for (int round = 0; round < 200 && !done; ++round) {
        caller.purge_all();
        const ListRequest page;
        ASSERT_TRUE(executor.call<ListReply>([&](auto& r) { return store_->list(page, r); }));
        (void)caller.stats();
        (void)store_->health();
        clock_.advance(500ms);
      }
    });
    std::vector<std::jthread> workers;
    for (int t = 0; t < 3; ++t) {
      workers.emplace_back([&, t] {
        Caller caller(*store_, writes_);
        for (int i = 0; i < 400; ++i) {
          const std::string key = "t" + std::to_string(t) + "/" + std::to_string(i);
          const Result<ClaimReply> mine = caller.claim(long_request(key, "first"));
          ASSERT_TRUE(mine && mine->granted);
          if (i % 5 == 0) {
            ASSERT_TRUE(caller.release(mine->record));
            const Result<ClaimReply> again = caller.claim(long_request(key, "second"));
            ASSERT_TRUE(again && again->granted);
            EXPECT_EQ(again->record.epoch, 2u);
            ASSERT_TRUE(caller.complete(again->record, "x"));
          } else {
            const bool short_lived = i % 2 == 0;
            ASSERT_TRUE(caller.complete(mine->record, std::string(300, 'x'),
                                        short_lived ? Duration(1s) : Duration(1000h)));
          }
          if (i % 7 == 1) {
            const Result<Record> found = caller.lookup(mine->record.operation_id);
            if (i % 2 == 1) ASSERT_TRUE(found) << found.error().message;
          }
        }
      });
    }
    workers.clear();
    done = true;
  }
  open();
  for (int t = 0; t < 3; ++t) {
    for (int i = 1; i < 400; i += 2) {
      if (i % 5 == 0) continue;
      ASSERT_EQ(body_of("t" + std::to_string(t) + "/" + std::to_string(i)).size(), 300u);
    }
  }
}

// Nearly all that it holds is past its time, and it is the only one: it is given up as soon as it is sealed.
TEST_P(ConcurrencyTest, WhatLivesOutlivesASegmentThatIsPurgedWhileItIsSealed) {
  options_.segment_bytes = 16 << 10;
  open();
  constexpr int threads = 3;
  constexpr int pairs = 500;
  const auto lives = [](int i) { return i % 10 == 0; };
  const auto key_of = [](int t, int i) { return std::to_string(t) + "/" + std::to_string(i); };
  std::atomic<bool> done{false};
  {
    std::jthread house([&] {
      Caller caller(*store_);
      while (!done) caller.purge_all();
    });
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        Caller caller(*store_, writes_);
        for (int i = 0; i < pairs; ++i) {
          const Result<ClaimReply> mine = caller.claim(request(key_of(t, i)));
          ASSERT_TRUE(mine && mine->granted);
          ASSERT_TRUE(
              caller.complete(mine->record, std::string(1000, 'x'), lives(i) ? Duration(1000h) : 1ms));
          clock_.advance(1ms);
        }
      });
    }
    workers.clear();
    done = true;
  }
  for (int t = 0; t < threads; ++t) {
    for (int i = 0; i < pairs; ++i) {
      if (lives(i)) ASSERT_EQ(body_of(key_of(t, i)).size(), 1000u) << t << " " << i;
    }
  }
}

TEST_P(ConcurrencyTest, VerbsThatWaitForOneWriteAreAllAnswered) {
  open();
  constexpr int threads = 6;
  for (int round = 0; round < 50; ++round) {
    const std::string key = "k" + std::to_string(round);
    std::atomic<int> granted{0};
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        Caller caller(*store_, writes_);
        const Result<ClaimReply> reply = caller.claim(request(key, std::to_string(t)));
        ASSERT_TRUE(reply);
        granted += reply->granted;
        ASSERT_TRUE(caller.lookup(request(key).scope));
      });
    }
    workers.clear();
    ASSERT_EQ(granted.load(), 1);
  }
}

}  // namespace
}  // namespace onceward::embedded
