#include "cli/load.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onceward::cli {
namespace {

client::Answer problem(int status, const std::string& code) {
  return {.status = status, .headers = {}, .body = R"({"code":")" + code + R"("})"};
}

TEST(Seen, TellsAnswersApart) {
  EXPECT_EQ(seen_of({.status = 201}), Seen::first);
  EXPECT_EQ(seen_of({.status = 201, .headers = {{"idempotent-replayed", "true"}}}), Seen::replay);
  EXPECT_EQ(seen_of(problem(409, "IDEMPOTENCY_REQUEST_IN_PROGRESS")), Seen::in_progress);
  EXPECT_EQ(seen_of(problem(504, "IDEMPOTENCY_OUTCOME_UNKNOWN")), Seen::unknown);
  EXPECT_EQ(seen_of(problem(409, "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST")), Seen::mismatch);
  EXPECT_EQ(seen_of(problem(400, "INVALID_TENANT")), Seen::refused);
  EXPECT_EQ(seen_of({.status = 503}), Seen::unavailable);
}

TEST(Percentile, IsTheValueThatSoManyAreBelow) {
  std::vector<std::uint32_t> values(100);
  for (std::uint32_t i = 0; i < 100; ++i) values[i] = i + 1;
  EXPECT_EQ(percentile(values, 50), 51u);
  EXPECT_EQ(percentile(values, 99), 100u);
  EXPECT_EQ(percentile(values, 100), 100u);
  EXPECT_EQ(percentile({7}, 1), 7u);
  EXPECT_EQ(percentile({}, 50), 0u);
}

TEST(LoadReport, CountsAndMeasuresByOutcome) {
  LoadReport report;
  report.micros[static_cast<std::size_t>(Seen::first)] = {30, 10, 20};
  report.micros[static_cast<std::size_t>(Seen::replay)] = {5};
  report.duplicates = 1;
  report.took = std::chrono::milliseconds(2);
  EXPECT_EQ(
      load_json(report),
      R"({"requests":4,"duplicates":1,"contradictions":0,"milliseconds":2,"per_second":2000,"outcomes":{)"
      R"("first":{"count":3,"p50_us":20,"p90_us":30,"p99_us":30,"max_us":30},)"
      R"("replay":{"count":1,"p50_us":5,"p90_us":5,"p99_us":5,"max_us":5},)"
      R"("all":{"count":4,"p50_us":20,"p90_us":30,"p99_us":30,"max_us":30}}})");
  EXPECT_THAT(load_text(report), testing::HasSubstr("4 requests in 0.00 s, 2000 per second; 1 repeated"));
}

}  // namespace
}  // namespace onceward::cli
