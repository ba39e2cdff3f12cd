#include "stores/embedded/inspect.hpp"

#include <filesystem>
#include <fstream>

#include "stores/embedded/store_fixture.hpp"

namespace onceward::embedded {
namespace {

namespace fs = std::filesystem;

class InspectTest : public EmbeddedTest {
 protected:
  InspectTest() { options_.durability = Durability::process; }
  Result<std::vector<SegmentReport>> verify() {
    return verify_folder(system_file_ops(), options_.dir, [](std::uint64_t, std::uint64_t) {});
  }
  void fill() {
    for (int i = 0; i < 300; ++i) must_complete("k" + std::to_string(i), std::string(500, 'x'));
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

TEST_F(InspectTest, RefusesAFolderThatIsNotAStore) {
  fs::create_directory(options_.dir);
  EXPECT_EQ(verify().error().code, Errc::refused);
  EXPECT_EQ(inspect_folder(system_file_ops(), options_.dir).error().code, Errc::refused);
  EXPECT_EQ(folder_stats(system_file_ops(), options_.dir).error().code, Errc::refused);
  EXPECT_TRUE(fs::is_empty(options_.dir));
}

}  // namespace
}  // namespace onceward::embedded
