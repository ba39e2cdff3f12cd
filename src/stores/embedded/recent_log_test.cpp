#include "stores/embedded/recent_log.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace onceward::embedded {
namespace {

constexpr std::size_t block = RecentLog::block_bytes;

std::string put_and_show(RecentLog& log, std::string_view bytes) {
  const std::span<const char> blocks = log.put(bytes);
  std::string seen(blocks.begin(), blocks.end());
  log.show();
  return seen;
}

std::optional<std::string> read(const RecentLog& log, SegmentId segment, std::uint64_t offset,
                                std::size_t count) {
  std::string bytes(count, '?');
  if (!log.read(segment, offset, bytes)) return std::nullopt;
  return bytes;
}

TEST(RecentLog, gives_whole_blocks_with_what_stood_before_and_zeros_behind) {
  RecentLog log(16 * block);
  log.begin(7, block + 3, "abc");
  EXPECT_EQ(put_and_show(log, "defgh"), "abcdefgh" + std::string(block - 8, '\0'));
  EXPECT_TRUE(log.follows(7, block + 8));
  EXPECT_EQ(put_and_show(log, "xy"), "abcdefghxy" + std::string(block - 10, '\0'));
  EXPECT_TRUE(log.follows(7, block + 16)) << "at the next multiple of the batches' alignment";
  EXPECT_FALSE(log.follows(8, block + 16));
  EXPECT_EQ(read(log, 7, block + 3, 5), "defgh");
  EXPECT_EQ(read(log, 7, block + 8, 2), "xy");
}

TEST(RecentLog, does_not_read_what_is_not_shown_yet_nor_what_it_did_not_write) {
  RecentLog log(16 * block);
  log.begin(1, 64, std::string(64, 'h'));
  (void)log.put("12345678");
  EXPECT_EQ(read(log, 1, 64, 8), std::nullopt);
  log.show();
  EXPECT_EQ(read(log, 1, 64, 8), "12345678");
  EXPECT_EQ(read(log, 1, 0, 8), std::nullopt) << "the lead is the file's";
  EXPECT_EQ(read(log, 1, 66, 8), std::nullopt);
  EXPECT_EQ(read(log, 2, 64, 8), std::nullopt);
}

// Against a model that remembers everything: what it has is right, what was put last it has, and the blocks
// are those of the file.
TEST(RecentLog, is_always_the_end_of_the_log_over_many_laps_and_segments) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  RecentLog log(32 * block);
  std::map<SegmentId, std::string> files;
  struct Written {
    SegmentId segment;
    std::uint64_t offset;
    std::size_t count;
  };
  std::vector<Written> written;
  SegmentId segment = 1;
  std::uint64_t offset = 64;
  files[segment] = std::string(offset, 'h');
  log.begin(segment, offset, files[segment]);
  for (int i = 0; i < 3000; ++i) {
    if (random() % 50 == 0) {
      ++segment;
      offset = 64;
      files[segment] = std::string(offset, 'h');
      log.begin(segment, offset, files[segment]);
    } else if (random() % 50 == 0) {  // somebody else has written something
      offset += 8 * (random() % 2000);
      std::string& file = files[segment];
      file.resize(offset, 'o');
      log.begin(segment, offset, std::string_view(file).substr(offset / block * block));
    }
    const std::size_t most = random() % 4 == 0 ? log.largest() : 700;
    const std::string bytes(1 + random() % most, static_cast<char>('a' + i % 26));
    std::string& file = files[segment];
    file.resize(offset, '\0');
    file += bytes;
    const std::string blocks = put_and_show(log, bytes);
    const std::uint64_t begin = offset / block * block;
    std::string expected = file.substr(begin);
    expected.resize((expected.size() + block - 1) / block * block, '\0');
    ASSERT_EQ(blocks, expected);
    written.push_back({segment, offset, bytes.size()});
    offset = aligned(offset + bytes.size());
    ASSERT_TRUE(log.follows(segment, offset));
    ASSERT_EQ(read(log, segment, written.back().offset, bytes.size()), bytes);
    const Written& some = written[random() % written.size()];
    if (const auto there = read(log, some.segment, some.offset, some.count))
      ASSERT_EQ(*there, files[some.segment].substr(some.offset, some.count));
  }
}

}  // namespace
}  // namespace onceward::embedded
