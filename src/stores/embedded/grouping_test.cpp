// Many segments: a new key asks a few tables and not one filter per segment, nothing is lost by that, and
// what has gone gives its memory back.
#include <filesystem>
#include <fstream>
#include <thread>

#include "stores/embedded/store_fixture.hpp"

namespace onceward::embedded {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class GroupingTest : public EmbeddedTest {
 protected:
  GroupingTest() {
    options_.durability = Durability::process;
    options_.segment_bytes = 16 << 10;
  }
  static std::string name_of(int number) { return "k" + std::to_string(number); }
  void fill(int from, int to, Duration ttl = 1000h) {
    for (int i = from; i < to; ++i) must_complete(name_of(i), name_of(i) + std::string(300, 'x'), ttl);
  }
  void expect_all(int from, int to) {
    for (int i = from; i < to; ++i) ASSERT_EQ(body_of(name_of(i)), name_of(i) + std::string(300, 'x'));
  }
  // Grouping follows in the background.
  void wait_for_filters(std::uint64_t most) {
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (store_->figures().filters > most && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(1ms);
    EXPECT_LE(store_->figures().filters, most) << store_->figures().segments << " segments";
  }
};

TEST_F(GroupingTest, AFewTablesStandForManySegments) {
  open();
  fill(0, 1500);
  ASSERT_GT(store_->figures().segments, 70u);
  wait_for_filters(store_->figures().segments / 64 + 7 + 7);
  expect_all(0, 1500);
  EXPECT_EQ(body_of("another").substr(0, 5), "error");
  EXPECT_FALSE(caller_->claim(request(name_of(3), "another"))->granted);
}

TEST_F(GroupingTest, TheNewestStateOfAKeyIsFoundAcrossTables) {
  open();
  for (int round = 0; round < 90; ++round) {
    const Result<ClaimReply> mine = caller_->claim(request("again", std::to_string(round)));
    ASSERT_TRUE(mine && mine->granted) << round;
    EXPECT_EQ(mine->record.epoch, static_cast<std::uint64_t>(round + 1));
    ASSERT_TRUE(caller_->release(mine->record));
    fill(round * 20, round * 20 + 20);
  }
  ASSERT_GT(store_->figures().segments, 70u);
  wait_for_filters(16);
  EXPECT_EQ(caller_->lookup(request("again").scope)->epoch, 90u);
  open();
  wait_for_filters(16);
  EXPECT_EQ(caller_->lookup(request("again").scope)->epoch, 90u);
}

TEST_F(GroupingTest, FollowsAnOpeningAndEveryPurge) {
  open();
  fill(0, 1000, 1h);
  fill(1000, 1500);
  open();
  wait_for_filters(store_->figures().segments / 64 + 7 + 7);
  const std::uint64_t before = store_->figures().filter_bytes;
  clock_.advance(2h);
  EXPECT_EQ(caller_->purge_all().removed, 1000u);
  const auto until = std::chrono::steady_clock::now() + 60s;
  while (store_->figures().filter_bytes * 2 > before && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(1ms);
  EXPECT_LT(store_->figures().filter_bytes * 2, before);
  EXPECT_TRUE(caller_->claim(request(name_of(1)))->granted);
  expect_all(1000, 1500);
}

// A table without what stands in a damaged block would make those records misses: the segment is read.
TEST_F(GroupingTest, ADamagedIndexTakesNothingAway) {
  open();
  fill(0, 1500);
  close();
  std::vector<fs::path> indexes;
  for (const auto& file : fs::directory_iterator(options_.dir)) {
    if (file.path().extension() == ".idx") indexes.push_back(file.path());
  }
  std::sort(indexes.begin(), indexes.end());
  for (std::size_t i = 0; i < indexes.size(); i += 10) {
    std::fstream file(indexes[i], std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('?');
  }
  open();
  wait_for_filters(store_->figures().segments / 64 + 7 + 7);
  expect_all(0, 1500);
  fill(1500, 1600);
  expect_all(0, 1600);
}

}  // namespace
}  // namespace onceward::embedded
