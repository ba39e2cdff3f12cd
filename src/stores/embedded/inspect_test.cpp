#include "stores/embedded/inspect.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "stores/embedded/store_fixture.hpp"

namespace onceward::embedded {
namespace {

namespace fs = std::filesystem;

// What another process does to a segment between two steps of a look at it.
class BusyFileOps final : public FileOps {
 public:
  std::function<void(int file)> after_size = [](int) {};
  std::function<void(char* bytes, std::size_t count, std::uint64_t offset)> after_read =
      [](char*, std::size_t, std::uint64_t) {};

  std::int64_t size(int file) override {
    const std::int64_t size = FileOps::size(file);
    after_size(file);
    return size;
  }
  std::int64_t pread(int file, char* to, std::size_t count, std::uint64_t offset) override {
    const std::int64_t got = FileOps::pread(file, to, count, offset);
    if (got > 0) after_read(to, static_cast<std::size_t>(got), offset);
    return got;
  }
};

class InspectTest : public EmbeddedTest {
 protected:
  InspectTest() { options_.durability = Durability::process; }
  Result<std::vector<SegmentReport>> verify(FileOps& ops = system_file_ops()) {
    return verify_folder(ops, options_.dir, [](std::uint64_t, std::uint64_t) {});
  }
  void fill(int count = 300) {
    for (int i = 0; i < count; ++i) must_complete("k" + std::to_string(i), std::string(500, 'x'));
    must_claim("open");
  }
};

TEST_F(InspectTest, FindsAGoodStoreGoodAlsoWhileItIsInUse) {
  open();
  fill();
  const auto reports = verify();
  ASSERT_TRUE(reports) << reports.error().message;
  EXPECT_GT(reports->size(), 2u);
  std::uint64_t succeeded = 0;
  for (const SegmentReport& report : *reports) {
    EXPECT_TRUE(report.lost.empty()) << report.lost;
    EXPECT_TRUE(report.damaged_at.empty());
    succeeded += report.by_state[static_cast<std::size_t>(State::succeeded)];
  }
  EXPECT_EQ(succeeded, 300u);
  const auto stats = folder_stats(system_file_ops(), options_.dir);
  ASSERT_TRUE(stats) << stats.error().message;
  EXPECT_EQ(stats->records, 301u);
  EXPECT_EQ(stats->open_by_state[static_cast<std::size_t>(State::processing)], 1u);
  ASSERT_TRUE(inspect_folder(system_file_ops(), options_.dir));
}

TEST_F(InspectTest, CountsMarksAndEventsApartFromRecords) {
  open();
  for (int i = 0; i < 5; ++i) {
    const std::string key = "k" + std::to_string(i);
    const auto claimed = caller_->claim(marked_request(request(key), key, std::chrono::hours(48)));
    ASSERT_TRUE(claimed);
    if (i != 0) ASSERT_TRUE(caller_->complete_with_event(claimed->record, "done"));
  }
  const auto reports = verify();
  ASSERT_TRUE(reports) << reports.error().message;
  const SegmentReport& report = reports->front();
  EXPECT_EQ(report.marks, 9u) << "taken, and kept after success";
  EXPECT_EQ(report.events, 4u);
  EXPECT_EQ(report.by_state[static_cast<std::size_t>(State::succeeded)], 4u);
  const auto stats = folder_stats(system_file_ops(), options_.dir);
  ASSERT_TRUE(stats) << stats.error().message;
  EXPECT_EQ(stats->records, 5u);
  EXPECT_EQ(stats->held_marks, 1u);
  EXPECT_EQ(stats->events, 4u);
  EXPECT_EQ(stats->open_by_state[static_cast<std::size_t>(State::unknown)], 0u);
}

TEST_F(InspectTest, NamesThePlaceOfDamageAndChangesNothing) {
  open();
  fill();
  close();
  const std::string path = segment_path(options_.dir, 1);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(2000);
  file.put('\x7f');
  file.close();
  const auto before = fs::last_write_time(path);
  const auto reports = verify();
  ASSERT_TRUE(reports);
  EXPECT_EQ(reports->front().damaged_at.size(), 1u);
  EXPECT_EQ(fs::last_write_time(path), before);
}

TEST_F(InspectTest, RoomGivenBackDuringALookIsNoDamage) {
  open();
  fill(20);
  close();
  const auto good = verify();
  ASSERT_TRUE(good);
  const fs::path segment = segment_path(options_.dir, 1);
  const std::uint64_t whole = good->front().file_bytes;
  ASSERT_GT(whole, good->front().data_bytes);
  BusyFileOps busy;
  bool given_back = true;
  for (int moment = 1; given_back; ++moment) {
    fs::resize_file(segment, whole);
    given_back = false;
    int sizes_asked = 0;
    busy.after_size = [&](int) {
      if (++sizes_asked != moment) return;
      fs::resize_file(segment, good->front().data_bytes);
      given_back = true;
    };
    const auto reports = verify(busy);
    ASSERT_TRUE(reports) << moment << ": " << reports.error().message;
    EXPECT_EQ(reports->front().lost, "") << moment;
    EXPECT_EQ(reports->front().entries, good->front().entries) << moment;
  }
}

TEST_F(InspectTest, AWriteThatIsSeenHalfIsLookedAtAgain) {
  options_.durability = Durability::disk;
  open();
  fill(40);
  close();
  BusyFileOps busy;
  int half_seen = 0;
  busy.after_read = [&](char* bytes, std::size_t count, std::uint64_t offset) {
    if (half_seen == 0 || offset != 0 || count < 8192) return;
    --half_seen;
    std::memset(bytes + 4096, 0, 4096);  // a page that was read before it was written, unlike those behind it
  };
  half_seen = 2;
  const auto reports = verify(busy);
  ASSERT_TRUE(reports) << reports.error().message;
  EXPECT_EQ(reports->front().lost, "");
  EXPECT_TRUE(reports->front().damaged_at.empty());
  EXPECT_EQ(reports->front().by_state[static_cast<std::size_t>(State::succeeded)], 40u);
  half_seen = 2;
  const auto stats = folder_stats(busy, options_.dir);
  ASSERT_TRUE(stats) << stats.error().message;
  EXPECT_EQ(stats->records, 41u);
  EXPECT_EQ(stats->damaged, 0u);
  half_seen = 1'000'000;
  const auto damaged = verify(busy);
  ASSERT_TRUE(damaged);
  EXPECT_NE(damaged->front().lost, "") << "what stays is damage";
  EXPECT_FALSE(folder_stats(busy, options_.dir));
}

TEST_F(InspectTest, RefusesAFolderThatIsNotAStore) {
  fs::create_directory(options_.dir);
  EXPECT_EQ(verify().error().code, Errc::refused);
  EXPECT_EQ(inspect_folder(system_file_ops(), options_.dir).error().code, Errc::refused);
  EXPECT_EQ(folder_stats(system_file_ops(), options_.dir).error().code, Errc::refused);
  EXPECT_TRUE(fs::is_empty(options_.dir));
}

}  // namespace
}  // namespace onceward::embedded
