#include "base/time_text.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;

TEST(TimeText, ReadsWhatItWrites) {
  for (const std::int64_t ms : {0LL, 1LL, 951782400000LL, 1790000000125LL, 4102444799999LL}) {
    const Timestamp time{Duration(ms)};
    EXPECT_EQ(time_from_text(time_text(time)), time) << time_text(time);
  }
  EXPECT_EQ(time_text(Timestamp{1790000000125ms}), "2026-09-21T14:13:20.125Z");
  EXPECT_EQ(time_from_text("2026-09-21T14:13:20Z"), Timestamp{1790000000000ms});
  EXPECT_EQ(time_from_text("2026-09-21T14:13:20.1Z"), Timestamp{1790000000100ms});
}

TEST(TimeText, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "2026", "2026-09-21", "2026-09-21T14:13:20", "2026-09-21T14:13:20+02:00", "2026-13-21T14:13:20Z",
        "2026-02-30T14:13:20Z", "2026-09-21T24:13:20Z", "2026-09-21T14:60:20Z", "2026-09-21T14:13:20.Z",
        "2026-09-21 14:13:20Z", "2026-09-21T14:13:20Zx", "-026-09-21T14:13:20Z"})
    EXPECT_FALSE(time_from_text(text)) << text;
}

TEST(TimeText, ReadsLengthsOfTime) {
  const std::pair<const char*, Duration> good[] = {{"500ms", 500ms}, {"30s", 30s}, {"10m", 10min},
                                                   {"24h", 24h},     {"7d", 168h}, {"0s", 0s}};
  for (const auto& [text, length] : good) EXPECT_EQ(duration_from_text(text), length) << text;
  for (const char* text : {"", "10", "s", "-1s", "1.5h", "10 s", "1w", "99999999999999999999s", "36501d",
                           "9223372036854775807d", "1s "})
    EXPECT_FALSE(duration_from_text(text)) << text;
}

}  // namespace
}  // namespace onceward
