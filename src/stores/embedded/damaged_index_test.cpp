// An index file whose blocks cannot be read takes nothing away: lists, copies and cleaning go round it by the
// segment itself, and what cannot be read there either is counted.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/adoption.hpp"
#include "stores/embedded/inspect.hpp"
#include "stores/embedded/segment.hpp"
#include "stores/embedded/store_fixture.hpp"

namespace onceward::embedded {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr int records = 2000;  // several blocks to an index, several segments

// Files that the disk no longer gives back.
class LostFiles final : public FileOps {
 public:
  void lose(std::set<std::string> paths) {
    const std::lock_guard lock(mutex_);
    lost_ = std::move(paths);
  }
  int open(const std::string& path, int flags) override {
    const int file = FileOps::open(path, flags);
    const std::lock_guard lock(mutex_);
    if (file >= 0) opened_[file] = path;
    return file;
  }
  std::int64_t pread(int file, char* to, std::size_t count, std::uint64_t offset) override {
    {
      const std::lock_guard lock(mutex_);
      if (lost_.contains(opened_[file])) return -EIO;
    }
    return FileOps::pread(file, to, count, offset);
  }

 private:
  std::mutex mutex_;
  std::map<int, std::string> opened_;
  std::set<std::string> lost_;
};

class DamagedIndexTest : public EmbeddedTest {
 protected:
  DamagedIndexTest() {
    options_.durability = Durability::process;
    options_.segment_bytes = 256 << 10;
    options_.file_ops = &ops_;
  }
  void TearDown() override { close(); }  // its threads use ops_

  static std::string name_of(int number) { return "k" + std::to_string(number); }
  static bool lasts(int number) { return number % 10 == 0; }
  // Every tenth lasts; the rest is gone after an hour.
  void fill() {
    open();
    for (int i = 0; i < records; ++i) must_complete(name_of(i), name_of(i), lasts(i) ? 240h : 1h);
    close();  // seals what is full
    ASSERT_GE(indexes().size(), 2u);
    ASSERT_GE(blocks_of(indexes().front()), 3u);
  }
  std::vector<fs::path> indexes() {
    std::vector<fs::path> found;
    for (const auto& file : fs::directory_iterator(options_.dir)) {
      if (file.path().extension() == ".idx") found.push_back(file.path());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  static SealedIndex open_index(const fs::path& path) {
    return std::move(
        *SealedIndex::open(system_file_ops(), path.string(), *id_of_name(path.filename().string(), ".idx")));
  }
  static std::size_t blocks_of(const fs::path& path) { return open_index(path).blocks(); }
  static void damage_block(const fs::path& path, std::size_t number) {
    const std::uint64_t at = fs::file_size(path) - (blocks_of(path) - number) * SealedIndex::block_bytes +
                             SealedIndex::block_bytes / 2;
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.write("damage!", 7);
  }
  bool has_damaged_index() {
    const auto reports = verify_folder(system_file_ops(), options_.dir, [](std::uint64_t, std::uint64_t) {});
    return std::any_of(reports->begin(), reports->end(),
                       [](const SegmentReport& report) { return report.index_damaged; });
  }
  std::size_t listed() { return caller_->list_all().size(); }
  std::uint64_t passed_over() { return dynamic_cast<Adopter&>(*store_).passed_over(); }

  LostFiles ops_;
};

TEST_F(DamagedIndexTest, HidesNothingFromAList) {
  fill();
  const fs::path index = indexes().front();
  damage_block(index, 1);
  ASSERT_TRUE(has_damaged_index());
  open();
  EXPECT_EQ(listed(), std::size_t{records});
  EXPECT_EQ(passed_over(), 0u);
}

TEST_F(DamagedIndexTest, HidesNothingFromAListAtItsEndsEither) {
  fill();
  const fs::path index = indexes().back();
  damage_block(index, 0);
  damage_block(index, blocks_of(index) - 1);
  open();
  EXPECT_EQ(listed(), std::size_t{records});
  EXPECT_EQ(passed_over(), 0u);
}

TEST_F(DamagedIndexTest, IsWrittenAnewForTheNextOpening) {
  fill();
  damage_block(indexes().front(), 2);
  open();
  EXPECT_EQ(listed(), std::size_t{records});
  EXPECT_FALSE(has_damaged_index());
  open();
  EXPECT_EQ(listed(), std::size_t{records});
  for (int i = 0; i < records; i += 7) ASSERT_EQ(body_of(name_of(i)), name_of(i));
  EXPECT_EQ(caller_->stats().records, std::uint64_t{records});
}

TEST_F(DamagedIndexTest, DoesNotKeepItsSegmentFromBeingCleaned) {
  fill();
  const std::vector<fs::path> before = indexes();
  for (std::size_t number = 0; number < blocks_of(before.front()); number += 2)
    damage_block(before.front(), number);
  open();
  clock_.advance(2h);
  EXPECT_EQ(caller_->purge_all().removed, std::size_t{records - records / 10});
  for (const fs::path& index : before) EXPECT_FALSE(fs::exists(index)) << index;
  EXPECT_EQ(caller_->stats().records, std::uint64_t{records / 10});
  EXPECT_EQ(listed(), std::size_t{records / 10});
  for (int i = 0; i < records; ++i) {
    if (lasts(i)) ASSERT_EQ(body_of(name_of(i)), name_of(i));
  }
}

TEST_F(DamagedIndexTest, IsGoneRoundWhenTheDiskGivesItBackNoMore) {
  fill();
  open();
  ops_.lose({indexes().front().string()});
  EXPECT_EQ(listed(), std::size_t{records});
  EXPECT_EQ(passed_over(), 0u);
  for (int i = 0; i < records; i += 100) ASSERT_EQ(body_of(name_of(i)), name_of(i));
}

TEST_F(DamagedIndexTest, WithItsSegmentIsCountedAsPassedOver) {
  fill();
  open();
  const fs::path index = indexes().front();
  const std::uint64_t inside = open_index(index).summary().entries;
  ops_.lose({index.string(), fs::path(index).replace_extension(".log").string()});
  EXPECT_EQ(listed(), records - inside);
  EXPECT_GE(passed_over(), inside);
}

}  // namespace
}  // namespace onceward::embedded
