// Every disk operation fails once, in every way: nothing acknowledged is lost, and what the store says
// after the fault is what it says after a restart (I10).
#include <thread>

#include "stores/embedded/faulty_file_ops.hpp"
#include "stores/embedded/store_fixture.hpp"

namespace onceward::embedded {
namespace {

using namespace std::chrono_literals;
using Kind = FaultyFileOps::Kind;

class FaultTest : public EmbeddedTest, public ::testing::WithParamInterface<Writes> {
 protected:
  FaultTest() {
    options_.file_ops = &ops_;
    writes_ = GetParam();
    options_.segment_bytes = 16 << 10;  // several segments in a short run
  }

  void TearDown() override { close(); }  // its threads use ops_

  // Until the store takes claims again; it tries by itself.
  void wait_until_healthy() {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (!(store_->health().ok && store_->health().takes_claims)) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << store_->health().message;
      std::this_thread::sleep_for(1ms);
    }
  }

  static std::string key_of(int i) { return "k" + std::to_string(i); }
  static bool is_marked(int i) { return i % 3 == 0; }
  ClaimRequest request_of(int i) {
    return is_marked(i) ? marked_request(request(key_of(i)), key_of(i), 24h) : request(key_of(i));
  }

  // A record and its mark, an outcome and its event: both or neither.
  void check_pairs_are_whole(int count) {
    const std::map<std::string, std::string> events = caller_->events();
    for (int i = 0; i < count; ++i) {
      if (!is_marked(i)) continue;
      const Result<Record> record = caller_->lookup(request(key_of(i)).scope);
      const bool succeeded = record && record->state == State::succeeded;
      const std::string id = record ? event_of(*record, "").id : "";
      ASSERT_EQ(events.contains(id), succeeded) << key_of(i);
      if (succeeded) ASSERT_EQ(events.at(id), record->response->body);
      const Result<ClaimReply> other =
          caller_->claim(marked_request(request("other " + key_of(i)), key_of(i), 24h));
      ASSERT_TRUE(other) << other.error().message;
      ASSERT_EQ(other->granted, !record) << key_of(i);
    }
  }

  // Pairs with bodies of different sizes. `acknowledged` maps keys to what was acknowledged last.
  void run_pairs(int count, std::map<std::string, std::string>& acknowledged) {
    for (int i = 0; i < count; ++i) {
      const std::string key = key_of(i);
      const Result<ClaimReply> claimed = caller_->claim(request_of(i));
      if (!claimed) continue;
      acknowledged[key] = "unknown";  // after a restart
      const std::string body(static_cast<std::size_t>(100 + 97 * (i % 7)), static_cast<char>('a' + i % 26));
      const Result<Record> done = is_marked(i) ? caller_->complete_with_event(claimed->record, body)
                                               : caller_->complete(claimed->record, body);
      if (done) acknowledged[key] = body;
    }
  }

  void sweep(Kind kind, int error) {
    std::uint64_t points = 0;
    for (std::uint64_t n = 1; n < 10'000; ++n) {
      SCOPED_TRACE("fault at change " + std::to_string(n));
      testing::TemporaryFolder folder;
      options_.dir = folder.path() + "/store";
      std::map<std::string, std::string> acknowledged;
      std::map<std::string, std::string> told;
      {
        ops_.fail_at(n, kind, error);
        Result<std::unique_ptr<EmbeddedStore>> opened = try_open();
        if (!opened) {  // the fault hit the opening; it must work the next time
          ops_.heal();
          open();
          close();
          ++points;
          continue;
        }
        store_ = std::move(*opened);
        caller_.emplace(*store_, writes_);
        run_pairs(25, acknowledged);
        wait_until_healthy();
        for (int i = 0; i < 25; ++i) told["k" + std::to_string(i)] = body_of("k" + std::to_string(i));
        close();
      }
      const bool fired = ops_.fired();
      ops_.heal();
      open();
      for (const auto& [key, body] : acknowledged) {
        if (body != "unknown") {
          ASSERT_EQ(body_of(key), body) << key;
        } else {
          ASSERT_NE(body_of(key).substr(0, 5), "error") << key;
        }
      }
      for (const auto& [key, what] : told) {
        const std::string expected = what == "processing" ? "unknown" : what;
        ASSERT_EQ(body_of(key), expected) << key << ": the store said otherwise before the restart";
      }
      ASSERT_NO_FATAL_FAILURE(check_pairs_are_whole(25));
      close();
      if (!fired) break;
      ++points;
    }
    EXPECT_GT(points, 80u) << "the run is too short to mean anything";
  }

  FaultyFileOps ops_;
};

INSTANTIATE_TEST_SUITE_P(ByTheLogsThread, FaultTest, ::testing::Values(Writes::elsewhere));
INSTANTIATE_TEST_SUITE_P(ByTheCaller, FaultTest, ::testing::Values(Writes::here));

TEST_P(FaultTest, AnyOneOperationMayFailWithAnError) { sweep(Kind::error, EIO); }
TEST_P(FaultTest, AnyOneOperationMayFindTheDiskFull) { sweep(Kind::error, ENOSPC); }
TEST_P(FaultTest, AnyOneWriteMayBeShort) { sweep(Kind::short_write, EIO); }
TEST_P(FaultTest, AnyOneFailedSyncMayLoseWhatItShouldHaveSynced) { sweep(Kind::lost_sync, EIO); }

TEST_P(FaultTest, AnyOneOperationMayFailWhereEverythingGoesThroughTheCache) {
  ops_.go_without_direct(true);
  sweep(Kind::error, EIO);
}
TEST_P(FaultTest, AnyOneSyncOfTheCacheMayLoseWhatItShouldHaveSynced) {
  ops_.go_without_direct(true);
  sweep(Kind::lost_sync, EIO);
}

TEST_P(FaultTest, WhatCannotBeWrittenAroundTheCacheIsWrittenThroughIt) {
  open();
  for (int i = 0; i < 300; ++i) {
    ops_.refuse_direct(i / 10 % 2 == 1);  // in the middle of segments, and from the beginning of some
    must_complete(key_of(i), key_of(i) + std::string(static_cast<std::size_t>(i), 'x'));
  }
  ops_.refuse_direct(false);
  for (int restart = 0; restart < 2; ++restart) {
    for (int i = 0; i < 300; ++i)
      ASSERT_EQ(body_of(key_of(i)), key_of(i) + std::string(static_cast<std::size_t>(i), 'x'));
    open();
  }
}

TEST_P(FaultTest, WhileSyncsFailEverythingIsUnavailableAndThenServiceIsBack) {
  open();
  const Record before = must_complete("before", "answer");
  const Record held = must_claim("held");
  ops_.break_syncs(true);
  const Result<ClaimReply> lost = caller_->claim(request("lost"));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Errc::unavailable);
  EXPECT_FALSE(store_->health().ok);
  EXPECT_EQ(caller_->lookup(before.scope).error().code, Errc::unavailable);
  EXPECT_EQ(caller_->complete(held, "late").error().code, Errc::unavailable);
  ops_.break_syncs(false);
  wait_until_healthy();
  EXPECT_EQ(body_of("before"), "answer");
  EXPECT_EQ(caller_->lookup(request("lost").scope).error().code, Errc::not_found);
  EXPECT_TRUE(caller_->complete(held, "late"));
  open();
  EXPECT_EQ(body_of("held"), "late");
  EXPECT_EQ(caller_->lookup(request("lost").scope).error().code, Errc::not_found);
}

TEST_P(FaultTest, AFullDiskRefusesClaimsAndStillTakesTheOutcomesOfThoseMade) {
  options_.segment_bytes = 256 << 10;
  open();
  while (!store_->figures().spare_ready) std::this_thread::yield();  // else there is no room to begin with
  std::vector<Record> made;
  ops_.fill_disk(true);
  for (int i = 0; i < 20'000; ++i) {
    const Result<ClaimReply> claimed = caller_->claim(request("k" + std::to_string(i)));
    if (!claimed) {
      EXPECT_EQ(claimed.error().code, Errc::refused) << claimed.error().message;
      break;
    }
    made.push_back(claimed->record);
    if (made.size() % 4 == 0) {  // most are done by and by; the last ones stay open
      for (std::size_t j = made.size() - 4; j < made.size() && i < 300; ++j)
        ASSERT_TRUE(caller_->complete(made[j], "x"));
    }
  }
  EXPECT_FALSE(store_->health().takes_claims);
  std::size_t open_claims = 0;
  for (const Record& mine : made) {
    const Result<Record> state = caller_->lookup(mine.scope);
    ASSERT_TRUE(state);
    if (state->state != State::processing) continue;
    ++open_claims;
    const Result<Record> done = caller_->complete(mine, "outcome");
    if (open_claims <= 100) ASSERT_TRUE(done) << done.error().message;
  }
  EXPECT_GT(open_claims, 0u);
  ops_.fill_disk(false);
  wait_until_healthy();
  EXPECT_TRUE(caller_->claim(request("after")));
}

}  // namespace
}  // namespace onceward::embedded
