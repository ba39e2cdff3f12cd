#include "cli/record_table.hpp"

#include <gtest/gtest.h>

namespace onceward::cli {
namespace {

using namespace std::chrono_literals;

TEST(RecordTable, AlignsColumnsByCharacters) {
  EXPECT_EQ(as_table({{"A", "B"}, {"\u00e9\u00e9\u00e9", "x"}, {"aa", ""}}),
            "A    B\n\u00e9\u00e9\u00e9  x\naa\n");
  EXPECT_EQ(as_table({}), "");
}

TEST(RecordTable, LetsNoNameMoveTheCursor) {
  EXPECT_EQ(as_table({{"a\x1b[2Jb\n\x7f\xff\xc2\x9b"
                       "31m"}}),
            "a?[2Jb????31m\n");
}

TEST(RecordTable, ShowsHowLongARecordHasBeenAsItIs) {
  const boost::json::object record{{"operation_id", "id"},
                                   {"state", "unknown"},
                                   {"epoch", 2},
                                   {"operation", "orders"},
                                   {"tenant", "t"},
                                   {"key", "abcd"},
                                   {"updated_at", "2026-01-01T00:00:00.000Z"},
                                   {"evidence", {{"cause", "timeout"}}}};
  const Timestamp now{std::chrono::sys_days(std::chrono::year(2026) / 1 / 1) + 10min};
  EXPECT_EQ(record_row(record, now), (Row{"id", "unknown", "2", "10m", "orders", "t", "abcd", "timeout"}));
  EXPECT_EQ(record_row(record, now).size(), record_header().size());
  EXPECT_NE(record_details(record).find("evidence.cause  timeout\n"), std::string::npos);
}

TEST(RecordTable, WritesAgesShort) {
  const std::pair<Duration, const char*> cases[] = {{-5s, "0s"},  {0s, "0s"},       {119s, "119s"},
                                                    {120s, "2m"}, {119min, "119m"}, {2h, "2h"},
                                                    {47h, "47h"}, {48h, "2d"}};
  for (const auto& [age, text] : cases) EXPECT_EQ(age_text(age), text);
}

TEST(RecordTable, DrawsProgressWithinItsBounds) {
  EXPECT_EQ(progress_bar(-1), "[" + std::string(30, '.') + "]   0 %");
  EXPECT_EQ(progress_bar(0.5), "[" + std::string(15, '#') + std::string(15, '.') + "]  50 %");
  EXPECT_EQ(progress_bar(7), "[" + std::string(30, '#') + "] 100 %");
}

}  // namespace
}  // namespace onceward::cli
