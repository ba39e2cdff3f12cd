// One flipped bit anywhere in any file of a store: its record is unreadable, never a miss, never another
// content; every other record is served; `verify` says that something is wrong.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "core/crc32c.hpp"
#include "stores/embedded/inspect.hpp"
#include "stores/embedded/log_scan.hpp"
#include "stores/embedded/segment.hpp"
#include "stores/embedded/store_fixture.hpp"

namespace onceward::embedded {
namespace {

namespace fs = std::filesystem;

constexpr int records = 90;

std::string name_of(int number) { return "k" + std::to_string(number); }
std::string content_of(int number) {
  return std::string(static_cast<std::size_t>(60 + number * 7 % 400), static_cast<char>('a' + number % 26));
}

std::string marker_checksum(const std::string& line) {
  char text[16];
  std::snprintf(text, sizeof text, "%08x", crc32c(line));
  return text;
}

class DamageTest : public EmbeddedTest {
 protected:
  DamageTest() {
    options_.durability = Durability::process;
    options_.segment_bytes = 16 << 10;
    open();
    for (int i = 0; i < records; ++i) must_complete(name_of(i), content_of(i));
    close();
    fs::rename(options_.dir, good_);
    for (const auto& file : fs::directory_iterator(good_)) {
      if (file.path().extension() == ".log") logs_.push_back(file.path().filename());
      if (file.path().extension() == ".idx") indexes_.push_back(file.path().filename());
    }
    std::sort(logs_.begin(), logs_.end());
    std::sort(indexes_.begin(), indexes_.end());
  }

  void flip(const fs::path& name, std::uint64_t bit) {
    fs::remove_all(options_.dir);
    fs::copy(good_, options_.dir);
    std::fstream file(fs::path(options_.dir) / name, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(bit / 8));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(bit / 8));
    file.put(static_cast<char>(byte ^ (1 << (bit % 8))));
  }
  std::uint64_t size_of(const fs::path& name) { return fs::file_size(good_ / name); }
  // Where the log's last batch ends; behind it is room that was never written.
  std::uint64_t end_of(const fs::path& name) {
    const auto reports = inspect_folder(system_file_ops(), good_.string());
    for (const SegmentReport& report : *reports) {
      if (segment_path("", report.id) == "/" + name.string() && report.sealed) return report.data_bytes;
    }
    std::ifstream file(good_ / name, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const auto header = decode_segment_header(bytes);
    return scan_segment(bytes, *header, 0, [](ScannedEntry&&) {})->end;
  }

  bool verify_complains() {
    const auto reports = verify_folder(system_file_ops(), options_.dir, [](std::uint64_t, std::uint64_t) {});
    if (!reports || *has_damaged_marker(system_file_ops(), options_.dir)) return true;
    return std::any_of(reports->begin(), reports->end(), [](const SegmentReport& report) {
      return !report.lost.empty() || !report.damaged_at.empty() || report.index_damaged || report.torn;
    });
  }

  // How many are unreadable; the others must have their own content.
  int unreadable() {
    int count = 0;
    for (int i = 0; i < records; ++i) {
      const Result<Record> record = caller_->lookup(request(name_of(i)).scope);
      if (record) {
        EXPECT_TRUE(record->response && record->response->body == content_of(i)) << name_of(i);
        continue;
      }
      EXPECT_EQ(record.error().code, Errc::unreadable) << name_of(i) << ": " << record.error().message;
      const Result<ClaimReply> claimed = caller_->claim(request(name_of(i), "another"));
      EXPECT_TRUE(!claimed && claimed.error().code == Errc::unreadable) << name_of(i);
      ++count;
    }
    return count;
  }

  const fs::path good_ = fs::path(folder_.path()) / "good";
  std::vector<fs::path> logs_;
  std::vector<fs::path> indexes_;
  std::mt19937_64 random_{11};
};

TEST_F(DamageTest, OfASegmentMakesOneRecordUnreadableAtMost) {
  ASSERT_GE(logs_.size(), 3u);
  int seen = 0;
  for (const fs::path& log : {logs_.front(), logs_[logs_.size() / 2], logs_.back()}) {
    const std::uint64_t end = end_of(log) * 8;
    std::vector<std::uint64_t> bits;
    for (std::uint64_t bit = 5; bit < segment_header_bytes * 8; bit += 37) bits.push_back(bit);
    for (int i = 0; i < 60; ++i) bits.push_back(segment_header_bytes * 8 + random_() % (end - 512));
    for (const std::uint64_t bit : bits) {
      SCOPED_TRACE(log.string() + " bit " + std::to_string(bit));
      flip(log, bit);
      const bool complained = verify_complains();
      ASSERT_NO_FATAL_FAILURE(open());
      const int count = unreadable();
      close();
      ASSERT_LE(count, 1);
      seen += count;
      ASSERT_FALSE(HasFailure());
      // The bytes that fill a batch up to its alignment mean nothing.
      if (count > 0) ASSERT_TRUE(complained);
    }
  }
  EXPECT_GT(seen, 50);
}

TEST_F(DamageTest, OfAnIndexTakesNothingAway) {
  ASSERT_GE(indexes_.size(), 2u);
  for (const fs::path& index : {indexes_.front(), indexes_.back()}) {
    const std::uint64_t bits = size_of(index) * 8;
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t bit = i < 30 ? static_cast<std::uint64_t>(i) * 131 % (128 * 8) : random_() % bits;
      SCOPED_TRACE(index.string() + " bit " + std::to_string(bit));
      flip(index, bit);
      ASSERT_NO_FATAL_FAILURE(open());
      ASSERT_EQ(unreadable(), 0);
      close();
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_F(DamageTest, OfAnIndexIsReported) {
  const fs::path index = indexes_.front();
  for (const std::uint64_t byte : {3u, 9u, 13u, 20u, 100u, 140u, 200u}) {
    flip(index, byte * 8 + 1);
    EXPECT_TRUE(verify_complains()) << "byte " << byte;
  }
  flip(index, (size_of(index) - 4000) * 8);
  EXPECT_TRUE(verify_complains()) << "a block";
}

TEST_F(DamageTest, OfRoomThatWasNeverWrittenTakesNothingAway) {
  const fs::path log = logs_.back();
  const std::uint64_t end = end_of(log);
  ASSERT_LT(end + 512, size_of(log));
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t bit = (end + random_() % (size_of(log) - end)) * 8 + 3;
    SCOPED_TRACE("bit " + std::to_string(bit));
    flip(log, bit);
    ASSERT_NO_FATAL_FAILURE(open());
    ASSERT_EQ(unreadable(), 0);
    must_complete("new", "written over it");
    open();
    ASSERT_EQ(unreadable(), 0);
    ASSERT_EQ(body_of("new"), "written over it");
    close();
    ASSERT_FALSE(HasFailure());
  }
}

// The segments' headers say too that the folder is ours and in which format.
TEST_F(DamageTest, OfTheMarkerIsReportedAndRepaired) {
  const std::uint64_t bits = size_of("onceward.store") * 8;
  for (std::uint64_t bit = 0; bit < bits; bit += 3) {
    flip("onceward.store", bit);
    EXPECT_TRUE(verify_complains()) << bit;
    EXPECT_TRUE(folder_stats(system_file_ops(), options_.dir)) << bit;
    ASSERT_NO_FATAL_FAILURE(open()) << bit;
    EXPECT_NE(store_->health().message.find("onceward.store was damaged"), std::string::npos) << bit;
    EXPECT_TRUE(store_->health().ok);
    EXPECT_EQ(unreadable(), 0) << bit;
    close();
    EXPECT_FALSE(verify_complains()) << bit;
    ASSERT_NO_FATAL_FAILURE(open());
    EXPECT_EQ(store_->health().message, "");
    close();
  }
}

// As the first releases wrote it, without a checksum.
TEST_F(DamageTest, OfAnOldMarkerIsRepairedToo) {
  const std::string line = "onceward embedded store, format 1\n";
  std::ofstream(good_ / "onceward.store", std::ios::trunc) << line;
  fs::copy(good_, options_.dir);
  EXPECT_FALSE(verify_complains());
  open();
  EXPECT_EQ(store_->health().message, "");
  close();
  for (std::uint64_t bit = 0; bit < line.size() * 8; bit += 7) {
    flip("onceward.store", bit);
    EXPECT_TRUE(verify_complains()) << bit;
    ASSERT_NO_FATAL_FAILURE(open()) << bit;
    EXPECT_EQ(unreadable(), 0) << bit;
    close();
  }
}

// Only segments whose headers can be read are witnesses; without one it is somebody else's file.
TEST_F(DamageTest, OfTheMarkerWithoutASegmentIsRefusedAndNothingIsChanged) {
  flip("onceward.store", 12);
  for (const fs::path& log : logs_) std::ofstream(fs::path(options_.dir) / log, std::ios::trunc) << "letters";
  for (const fs::path& index : indexes_) fs::remove(fs::path(options_.dir) / index);
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::refused);
  EXPECT_NE(opened.error().message.find("onceward.store is damaged"), std::string::npos);
  for (const fs::path& log : logs_) EXPECT_EQ(fs::file_size(fs::path(options_.dir) / log), 7u);
}

TEST_F(DamageTest, AMarkerOfANewerFormatIsBelievedWithItsChecksum) {
  fs::copy(good_, options_.dir);
  std::ofstream(options_.dir + "/onceward.store", std::ios::trunc)
      << "onceward embedded store, format 3\ncrc32c "
      << marker_checksum("onceward embedded store, format 3\n") << "\n";
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::refused);
  EXPECT_NE(opened.error().message.find("newer"), std::string::npos) << opened.error().message;
}

TEST_F(DamageTest, OfTheLockOrOfASpareMeansNothing) {
  flip(logs_.back(), size_of(logs_.back()) * 8 - 1);
  std::ofstream(options_.dir + "/lock") << "noise";
  std::ofstream(options_.dir + "/spare.9") << std::string(20'000, 'n');
  open();
  EXPECT_EQ(unreadable(), 0);
  EXPECT_FALSE(fs::exists(options_.dir + "/spare.9"));
}

}  // namespace
}  // namespace onceward::embedded
