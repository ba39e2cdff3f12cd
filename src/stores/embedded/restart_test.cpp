// Opening: whose folder it is, what a restart keeps, what damage does.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "stores/embedded/segment.hpp"
#include "stores/embedded/store_fixture.hpp"

namespace onceward::embedded {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class RestartTest : public EmbeddedTest {
 protected:
  RestartTest() { options_.durability = Durability::process; }

  std::vector<fs::path> files(const std::string& ending) {
    std::vector<fs::path> found;
    for (const auto& file : fs::directory_iterator(options_.dir)) {
      if (file.path().extension() == ending) found.push_back(file.path());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  void flip(const fs::path& path, std::uint64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 4));
  }
  // Segments are sealed in the background and only sealed ones are cleaned, so one pass may come early.
  template <class Enough>
  PurgeReply purge_until(Enough enough) {
    PurgeReply total;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!enough(total) && std::chrono::steady_clock::now() < deadline) {
      const PurgeReply pass = caller_->purge_all();
      total.removed += pass.removed;
      total.receipts += pass.receipts;
    }
    return total;
  }
  void fill(int count, std::size_t body_bytes = 500) {
    for (int i = 0; i < count; ++i)
      must_complete("k" + std::to_string(i), std::string(body_bytes, 'x') + std::to_string(i));
  }
  void expect_count_is(std::uint64_t count) { EXPECT_EQ(caller_->stats().records, count); }
  void expect_all(int count, std::size_t body_bytes = 500) {
    for (int i = 0; i < count; ++i) {
      ASSERT_EQ(body_of("k" + std::to_string(i)), std::string(body_bytes, 'x') + std::to_string(i)) << i;
    }
  }
};

TEST_F(RestartTest, KeepsAnswersTooLargeToGoAroundTheCacheAmongSmallOnes) {
  options_.durability = Durability::disk;
  options_.segment_bytes = 100'001;  // and segments that do not end with a block
  open();
  const std::string large((9 << 20) + 17, 'L');
  for (int i = 0; i < 30; ++i)
    must_complete("k" + std::to_string(i), i % 10 == 5 ? large : std::string(700, 's'));
  for (int restart = 0; restart < 2; ++restart) {
    for (int i = 0; i < 30; ++i)
      ASSERT_EQ(body_of("k" + std::to_string(i)), i % 10 == 5 ? large : std::string(700, 's')) << i;
    open();
  }
}

// A killed owner's last write may still be on its way to the disk: it holds the file, and so a lock of it.
TEST_F(RestartTest, WaitsForTheLastWriteOfTheOwnerBefore) {
  options_.durability = Durability::disk;
  open();
  must_complete("a", "answer");
  close();
  const int file = ::open((options_.dir + "/0000000000000001.log").c_str(), O_RDWR);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::flock(file, LOCK_EX), 0);
  std::future<void> opened = std::async(std::launch::async, [this] { open(); });
  EXPECT_EQ(opened.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  ::close(file);
  opened.get();
  EXPECT_EQ(body_of("a"), "answer");
}

TEST_F(RestartTest, KeepsWhatManySegmentsHold) {
  open();
  fill(500);
  EXPECT_GT(store_->figures().segments, 3u);
  expect_all(500);
  open();
  expect_all(500);
  EXPECT_EQ(caller_->stats().records, 500u);
  const Record one = *caller_->lookup(request("k7").scope);
  EXPECT_EQ(caller_->lookup(one.operation_id)->scope, one.scope);
}

TEST_F(RestartTest, HoldsWhatTheDeadOwnerMayHaveSentAndFreesWhatItHadOnlyClaimed) {
  open();
  const Record running = must_claim("running");
  ClaimRequest wanted = request("claimed");
  wanted.start = State::claimed;
  ASSERT_TRUE(caller_->claim(wanted));
  open();
  const Result<Record> held = caller_->lookup(running.scope);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->state, State::unknown);
  EXPECT_EQ(held->evidence.cause, UnknownCause::owner_lost);
  const Result<ClaimReply> taken = caller_->claim(request("claimed", "other"));
  ASSERT_TRUE(taken && taken->granted);
  EXPECT_EQ(taken->record.epoch, 2u);
  open();
  EXPECT_EQ(caller_->lookup(running.scope)->updated_at, held->updated_at);
}

TEST_F(RestartTest, FindsOpenRecordsInSealedSegments) {
  open();
  const Record early = must_claim("early");
  fill(300);
  const Record done = must_claim("done late");
  fill(0);
  ASSERT_TRUE(caller_->complete(done, "late"));
  open();
  EXPECT_EQ(caller_->lookup(early.scope)->state, State::unknown);
  EXPECT_EQ(body_of("done late"), "late");
  EXPECT_EQ(caller_->stats().open_records, 1u);
}

TEST_F(RestartTest, RebuildsAMissingOrDamagedIndex) {
  open();
  fill(500);
  close();
  const auto indexes = files(".idx");
  ASSERT_GE(indexes.size(), 3u);
  fs::remove(indexes[0]);
  flip(indexes[1], 40);
  open();
  expect_all(500);
}

TEST_F(RestartTest, GoesRoundADamagedBlockOfAnIndex) {
  open();
  fill(500);
  close();
  const auto indexes = files(".idx");
  flip(indexes[0], fs::file_size(indexes[0]) - 3000);
  open();
  expect_all(500);
}

TEST_F(RestartTest, AFlippedBitInASealedSegmentIsUnreadableAndNeverAMiss) {
  open();
  fill(500);
  close();
  flip(files(".log")[0], 3000);
  open();
  int unreadable = 0;
  for (int i = 0; i < 500; ++i) {
    const Result<Record> record = caller_->lookup(request("k" + std::to_string(i)).scope);
    if (record) continue;
    EXPECT_EQ(record.error().code, Errc::unreadable);
    EXPECT_EQ(caller_->claim(request("k" + std::to_string(i), "other")).error().code, Errc::unreadable);
    ++unreadable;
  }
  EXPECT_LE(unreadable, 1);
}

TEST_F(RestartTest, AMissingSegmentIsRefused) {
  open();
  fill(500);
  close();
  fs::remove(files(".log")[1]);
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::unreadable);
  EXPECT_NE(opened.error().message.find("missing"), std::string::npos);
}

TEST_F(RestartTest, ASecondProcessIsRefused) {
  open();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto second = try_open();
    const bool right = !second && second.error().code == Errc::refused &&
                       second.error().message.find("in use") != std::string::npos;
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(RestartTest, AForeignFolderIsRefusedAndLeftAsItIs) {
  fs::create_directory(options_.dir);
  std::ofstream(options_.dir + "/letter.txt") << "dear";
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::refused);
  EXPECT_EQ(std::distance(fs::directory_iterator(options_.dir), {}), 1);
}

TEST_F(RestartTest, ANewerFormatIsRefusedAndLeftAsItIs) {
  fs::create_directory(options_.dir);
  std::ofstream(options_.dir + "/onceward.store") << "onceward embedded store, format 2\n";
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::refused);
  EXPECT_NE(opened.error().message.find("newer"), std::string::npos);
  EXPECT_EQ(std::distance(fs::directory_iterator(options_.dir), {}), 1);
}

TEST_F(RestartTest, FilesAreTheirOwnersOnly) {
  open();
  fill(200);
  struct stat status{};
  ASSERT_EQ(::stat(options_.dir.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  for (const auto& file : fs::directory_iterator(options_.dir)) {
    ASSERT_EQ(::stat(file.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << file.path();
  }
}

TEST_F(RestartTest, AnAnswerLargerThanASegmentIsKept) {
  open();
  must_complete("large", std::string(300'000, 'L'));
  fill(50);
  open();
  EXPECT_EQ(body_of("large").size(), 300'000u);
  expect_all(50);
}

TEST_F(RestartTest, WhatAnOperatorPurgedStaysGone) {
  open();
  fill(300);
  PurgeRequest everything;
  everything.final_too = true;
  EXPECT_EQ(caller_->purge_all(everything).removed, 300u);
  EXPECT_EQ(caller_->stats().records, 0u);
  open();
  EXPECT_EQ(caller_->lookup(request("k3").scope).error().code, Errc::not_found);
  EXPECT_EQ(must_claim("k3").epoch, 1u);
}

TEST_F(RestartTest, SegmentsWhoseTimeIsOverAreUnlinked) {
  open();
  fill(500);
  const std::size_t before = files(".log").size();
  clock_.advance(25h);
  EXPECT_EQ(caller_->purge_all().removed, 500u);
  EXPECT_LT(files(".log").size(), before / 2);
  EXPECT_EQ(caller_->stats().records, 0u);
}

TEST_F(RestartTest, ARecordThatGoesInPartsIsCountedOnce) {
  open();
  for (int i = 0; i < 300; ++i) {  // half of them come back under another epoch in a later segment
    const Record mine = must_claim("k" + std::to_string(i));
    if (i % 2 == 0) ASSERT_TRUE(caller_->release(mine));
    if (i % 2 == 1) ASSERT_TRUE(caller_->complete(mine, std::string(500, 'x'), Duration(1h)));
  }
  for (int i = 0; i < 300; i += 2) {
    const Result<ClaimReply> again = caller_->claim(request("k" + std::to_string(i), "second"));
    ASSERT_TRUE(again && again->granted);
    ASSERT_TRUE(caller_->complete(again->record, std::string(500, 'x'), Duration(30h)));
  }
  must_complete("stays", "here", Duration(1000h));
  expect_count_is(301);
  clock_.advance(2h);
  // Some are due while their segment is still in memory, and get an entry that says so.
  const std::size_t removed = caller_->purge_all().removed;
  EXPECT_GT(removed, 0u);
  expect_count_is(301 - removed);
  for (int i = 1; i < 100; i += 2) must_complete("k" + std::to_string(i), "anew", Duration(1h));
  clock_.advance(30h);
  purge_until([this](const PurgeReply&) { return caller_->stats().records <= 1; });
  expect_count_is(1);
  EXPECT_EQ(body_of("stays"), "here");
  open();
  expect_count_is(1);
}

TEST_F(RestartTest, ARecordThatIsClaimedAnewWhileItsSegmentGoesIsCountedOnce) {
  open();
  fill(500);
  clock_.advance(25h);
  PurgeRequest step;
  step.chunk = 1;  // one block of the index at a time
  testing::BlockingExecutor executor;
  std::uint64_t removed = 0;
  for (int i = 0; i < 500; ++i) {
    const auto reply = executor.call<PurgeReply>([&](auto& r) { return store_->purge(step, r); });
    ASSERT_TRUE(reply) << reply.error().message;
    removed += reply->removed;
    step.cursor = reply->cursor;
    must_complete("k" + std::to_string(i), "anew");
  }
  removed += caller_->purge_all().removed;
  expect_count_is(500);
  EXPECT_LE(removed, 500u);
  open();
  expect_count_is(500);
}

TEST_F(RestartTest, MostlyDeadSegmentsAreCleanedAndWhatLivesIsKept) {
  open();
  const Record held = must_claim("held");
  for (int i = 0; i < 600; ++i) {
    const bool lives = i % 10 == 0;
    must_complete("k" + std::to_string(i), std::string(500, 'x'), lives ? Duration(1000h) : Duration(1h));
  }
  const std::size_t before = files(".log").size();
  clock_.advance(2h);
  EXPECT_EQ(purge_until([](const PurgeReply& total) { return total.removed >= 540; }).removed, 540u);
  EXPECT_LT(files(".log").size(), before / 2);
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < 600; ++i) {
      EXPECT_EQ(body_of("k" + std::to_string(i)).size() == 500, i % 10 == 0) << i;
    }
    EXPECT_EQ(caller_->lookup(held.scope)->state, State::unknown);
    EXPECT_EQ(caller_->stats().records, 61u);
    open();
  }
}

TEST_F(RestartTest, ReceiptsReplaceBodiesWhenASegmentIsCleaned) {
  open();
  for (int i = 0; i < 300; ++i) {
    ClaimRequest wanted = request("k" + std::to_string(i));
    wanted.receipt_ttl = 1000h;
    const Result<ClaimReply> mine = caller_->claim(wanted);
    ASSERT_TRUE(caller_->complete(mine->record, std::string(2000, 'x')));
  }
  const std::uint64_t before = caller_->stats().bytes;
  clock_.advance(25h);
  EXPECT_EQ(purge_until([](const PurgeReply& total) { return total.receipts >= 300; }).receipts, 300u);
  EXPECT_LT(caller_->stats().bytes, before / 2);
  EXPECT_EQ(body_of("k5"), "expired");
  open();
  EXPECT_EQ(body_of("k5"), "expired");
}

TEST_F(RestartTest, ADamagedRecordStaysUnreadableWhenItsSegmentIsCleaned) {
  open();
  for (int i = 0; i < 300; ++i)
    must_complete("k" + std::to_string(i), std::string(500, 'x'), i == 2 ? Duration(1000h) : Duration(1h));
  close();
  // The third outcome's body.
  std::ifstream log(files(".log")[0], std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(log), std::istreambuf_iterator<char>()};
  std::size_t at = 0;
  for (int i = 0; i < 3; ++i) at = bytes.find(std::string(500, 'x'), at) + 500;
  flip(files(".log")[0], at - 10);
  open();
  ASSERT_EQ(caller_->lookup(request("k2").scope).error().code, Errc::unreadable);
  clock_.advance(2h);
  caller_->purge_all();
  EXPECT_EQ(files(".log")[0].filename().string().substr(0, 16) == "0000000000000001", false);
  EXPECT_EQ(caller_->lookup(request("k2").scope).error().code, Errc::unreadable);
  open();
  EXPECT_EQ(caller_->claim(request("k2", "other")).error().code, Errc::unreadable);
}

TEST_F(RestartTest, AJumpOfTheClockPurgesNothingAndEndsNoLease) {
  open();
  fill(100);
  const Record held = must_claim("held");
  clock_.jump_wall(48h);
  EXPECT_EQ(caller_->purge_all().removed, 0u);
  EXPECT_FALSE(store_->health().purges);
  EXPECT_EQ(caller_->lookup(held.scope)->state, State::processing);
  expect_all(100);
}

}  // namespace
}  // namespace onceward::embedded
