#include "client/intent_record.hpp"

#include <gtest/gtest.h>

namespace onceward::client {
namespace {

IntentRecord sample(bool ended) {
  IntentRecord record{
      .name = "n", .key = "k", .request = "r", .identity = "i", .in_doubt = !ended, .end = {}};
  if (ended) {
    record.end =
        Outcome{.ending = Ending::failed,
                .final = true,
                .answer = {.status = 422, .headers = {{"A", "1"}, {"A", "2"}}, .body = std::string(300, 'b')},
                .reason = "said no",
                .operation_id = "op"};
  }
  return record;
}

TEST(IntentRecord, TheLastWholeEntryCounts) {
  const std::string file = encode_entry(sample(false)) + encode_entry(sample(true));
  const auto read = last_entry(file);
  ASSERT_TRUE(read) << read.error().message;
  const IntentRecord& record = **read;
  EXPECT_EQ(record.key, "k");
  EXPECT_FALSE(record.in_doubt);
  EXPECT_EQ(record.end->ending, Ending::failed);
  EXPECT_EQ(record.end->answer.status, 422);
  EXPECT_EQ(record.end->answer.headers, sample(true).end->answer.headers);
  EXPECT_EQ(record.end->answer.body, std::string(300, 'b'));
  EXPECT_EQ(record.end->operation_id, "op");
}

TEST(IntentRecord, AnEntryCutAnywhereLeavesTheOneBefore) {
  const std::string first = encode_entry(sample(false));
  const std::string second = encode_entry(sample(true));
  for (std::size_t kept = 0; kept < second.size(); ++kept) {
    const std::string file = first + second.substr(0, kept);
    const auto read = last_entry(file);
    ASSERT_TRUE(read) << kept;
    EXPECT_TRUE((*read)->in_doubt) << kept;
    EXPECT_EQ(whole_bytes(file), first.size()) << kept;
  }
  EXPECT_TRUE((*last_entry(first + std::string(64, '\0')))->in_doubt);
}

TEST(IntentRecord, AFirstEntryCutShortIsNoIntentYet) {
  const std::string entry = encode_entry(sample(false));
  for (std::size_t kept = 0; kept < entry.size(); ++kept) {
    const auto read = last_entry(entry.substr(0, kept));
    ASSERT_TRUE(read) << kept;
    EXPECT_FALSE(*read) << kept;
  }
}

TEST(IntentRecord, AFlippedBitIsDamageAndNeverANewIntent) {
  const std::string entry = encode_entry(sample(true));
  for (std::size_t at = 0; at < entry.size(); ++at) {
    std::string wrong = entry;
    wrong[at] = static_cast<char>(wrong[at] ^ 1);
    const auto read = last_entry(wrong);
    ASSERT_FALSE(read) << at;
    EXPECT_EQ(read.error().code, Errc::unreadable) << at;
  }
}

}  // namespace
}  // namespace onceward::client
