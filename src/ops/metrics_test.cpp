#include "ops/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <thread>

namespace onceward {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// The page, checked against the rules of the text format while it is read.
struct Scrape {
  std::map<std::string, std::string> types;    // family → type
  std::map<std::string, std::string> samples;  // series as written → value
  std::vector<std::string> complaints;

  std::uint64_t count(const std::string& series) const {
    const auto found = samples.find(series);
    return found == samples.end() ? 999'999 : std::stoull(found->second);
  }
};

std::string family_of(const Scrape& scrape, const std::string& name) {
  if (scrape.types.contains(name)) return name;
  for (const char* suffix : {"_bucket", "_sum", "_count"}) {
    if (!name.ends_with(suffix)) continue;
    const std::string family = name.substr(0, name.size() - std::string(suffix).size());
    const auto found = scrape.types.find(family);
    if (found != scrape.types.end() && found->second == "histogram") return family;
  }
  return {};
}

void read_sample(Scrape& scrape, const std::string& line, const std::string& current) {
  const std::size_t space = line.rfind(' ');
  const std::string series = line.substr(0, space);
  const std::string name = series.substr(0, series.find('{'));
  const std::string family = family_of(scrape, name);
  if (family.empty()) scrape.complaints.push_back("no TYPE before " + line);
  if (family != current) scrape.complaints.push_back("not grouped with its family: " + line);
  if (scrape.types[family] == "counter" && !name.ends_with("_total"))
    scrape.complaints.push_back("counter without _total: " + line);
  if (!scrape.samples.emplace(series, line.substr(space + 1)).second)
    scrape.complaints.push_back("twice: " + series);
}

Scrape read(const std::string& page) {
  Scrape scrape;
  std::string current, helped;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) {
      helped = line.substr(7, line.find(' ', 7) - 7);
    } else if (line.starts_with("# TYPE ")) {
      const std::size_t space = line.find(' ', 7);
      current = line.substr(7, space - 7);
      if (current != helped) scrape.complaints.push_back("no HELP before " + line);
      if (!scrape.types.emplace(current, line.substr(space + 1)).second)
        scrape.complaints.push_back("family twice: " + line);
    } else {
      read_sample(scrape, line, current);
    }
  }
  if (!page.ends_with('\n')) scrape.complaints.push_back("no newline at the end");
  return scrape;
}

TEST(Metrics, NamesAreTheContracts) {
  Metrics metrics({"a"}, 1);
  const Scrape scrape = read(metrics.render({}));
  const std::map<std::string, std::string> expected = {
      {"onceward_claims_total", "counter"},
      {"onceward_replays_total", "counter"},
      {"onceward_fingerprint_mismatch_total", "counter"},
      {"onceward_in_progress", "gauge"},
      {"onceward_in_progress_rejected_total", "counter"},
      {"onceward_unknown", "gauge"},
      {"onceward_unknown_total", "counter"},
      {"onceward_records_active", "gauge"},
      {"onceward_expired_total", "counter"},
      {"onceward_purge_lag_seconds", "gauge"},
      {"onceward_key_quota_rejected_total", "counter"},
      {"onceward_suspected_duplicates_total", "counter"},
      {"onceward_request_seconds", "histogram"},
      {"onceward_store_seconds", "histogram"},
      {"onceward_upstream_seconds", "histogram"},
      // Besides:
      {"onceward_outbox_failed_total", "counter"},
      {"onceward_outbox_oldest_seconds", "gauge"},
      {"onceward_outbox_pending", "gauge"},
      {"onceward_outbox_sent_total", "counter"},
      {"onceward_outbox_set_aside", "gauge"},
      {"onceward_probes_total", "counter"},
      {"onceward_store_errors_total", "counter"},
  };
  EXPECT_EQ(scrape.types, expected);
  EXPECT_TRUE(scrape.complaints.empty()) << testing::PrintToString(scrape.complaints);
}

TEST(Metrics, ShardsAreSummed) {
  Metrics metrics({"pay"}, 3);
  const std::size_t pay = metrics.operation("pay");
  EXPECT_EQ(pay, 1u);
  for (std::size_t worker = 0; worker < 3; ++worker) {
    Metrics::Shard& shard = metrics.shard(worker);
    shard.claim(pay, ClaimOutcome::granted);
    shard.claim(0, ClaimOutcome::replay);
    shard.operation(pay).replays.add(2);
    shard.operation(pay).mismatches.add();
    shard.operation(pay).in_progress_rejected.add();
    shard.operation(pay).expired.add();
    shard.operation(pay).suspected.add();
    shard.unknown(pay, UnknownCause::timeout);
    shard.quota_rejected.add();
  }
  metrics.shard(0).operation(pay).in_progress.add(5);
  metrics.shard(0).operation(pay).in_progress.subtract(2);
  const Scrape scrape = read(metrics.render({}));
  EXPECT_TRUE(scrape.complaints.empty()) << testing::PrintToString(scrape.complaints);
  EXPECT_EQ(scrape.count(R"(onceward_claims_total{operation="pay",outcome="granted"})"), 3u);
  EXPECT_EQ(scrape.count(R"(onceward_claims_total{operation="pay",outcome="replay"})"), 0u);
  EXPECT_EQ(scrape.count(R"(onceward_claims_total{operation="default",outcome="replay"})"), 3u);
  EXPECT_EQ(scrape.count(R"(onceward_replays_total{operation="pay"})"), 6u);
  EXPECT_EQ(scrape.count(R"(onceward_fingerprint_mismatch_total{operation="pay"})"), 3u);
  EXPECT_EQ(scrape.count(R"(onceward_in_progress{operation="pay"})"), 3u);
  EXPECT_EQ(scrape.count(R"(onceward_in_progress_rejected_total{operation="pay"})"), 3u);
  EXPECT_EQ(scrape.count(R"(onceward_unknown_total{operation="pay",cause="timeout"})"), 3u);
  EXPECT_EQ(scrape.count(R"(onceward_expired_total{operation="pay"})"), 3u);
  EXPECT_EQ(scrape.count(R"(onceward_suspected_duplicates_total{operation="pay"})"), 3u);
  EXPECT_EQ(scrape.count("onceward_key_quota_rejected_total"), 3u);
}

struct BucketCase {
  std::chrono::nanoseconds elapsed;
  const char* first_bound;  // the smallest bound that counts it
};

class HistogramBuckets : public testing::TestWithParam<BucketCase> {};

TEST_P(HistogramBuckets, AreCumulativeWithInclusiveBounds) {
  Metrics metrics({}, 1);
  metrics.shard(0).store_call(StoreVerb::claim, GetParam().elapsed);
  const Scrape scrape = read(metrics.render({}));
  bool reached = false;
  for (const char* bound : {"0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25",
                            "0.5", "1", "2.5", "5", "10", "30", "60", "+Inf"}) {
    reached = reached || std::string(bound) == GetParam().first_bound;
    EXPECT_EQ(scrape.count("onceward_store_seconds_bucket{verb=\"claim\",le=\"" + std::string(bound) + "\"}"),
              reached ? 1u : 0u)
        << bound;
  }
  EXPECT_TRUE(reached);
  EXPECT_EQ(scrape.count("onceward_store_seconds_count{verb=\"claim\"}"), 1u);
}

INSTANTIATE_TEST_SUITE_P(Table, HistogramBuckets,
                         testing::Values(BucketCase{0ns, "0.0005"}, BucketCase{-5ns, "0.0005"},
                                         BucketCase{500us, "0.0005"}, BucketCase{500'001ns, "0.001"},
                                         BucketCase{1ms, "0.001"}, BucketCase{26ms, "0.05"},
                                         BucketCase{1s, "1"}, BucketCase{60s, "60"},
                                         BucketCase{60s + 1ns, "+Inf"}, BucketCase{1h, "+Inf"}));

TEST(Metrics, HistogramsSumInSeconds) {
  Metrics metrics({"a"}, 2);
  metrics.shard(0).request(1, RequestOutcome::executed, 1500ms);
  metrics.shard(1).request(1, RequestOutcome::executed, 250us);
  metrics.shard(1).operation(1).upstream.observe(2s);
  const Scrape scrape = read(metrics.render({}));
  EXPECT_EQ(scrape.samples.at(R"(onceward_request_seconds_sum{operation="a",outcome="executed"})"),
            "1.50025");
  EXPECT_EQ(scrape.count(R"(onceward_request_seconds_count{operation="a",outcome="executed"})"), 2u);
  EXPECT_EQ(scrape.samples.at(R"(onceward_upstream_seconds_sum{operation="a"})"), "2");
  EXPECT_TRUE(scrape.complaints.empty()) << testing::PrintToString(scrape.complaints);
}

TEST(Metrics, TheStoresCountsGoUnderKnownNamesOnly) {
  Metrics metrics({"pay"}, 1);
  const Scrape scrape = read(metrics.render({.records = {{"pay", State::unknown, 2},
                                                         {"POST /orders/17", State::unknown, 3},
                                                         {"POST /orders/18", State::unknown, 4},
                                                         {"pay", State::succeeded, 5}},
                                             .purge_lag = 1500ms}));
  EXPECT_EQ(scrape.count(R"(onceward_unknown{operation="pay"})"), 2u);
  EXPECT_EQ(scrape.count(R"(onceward_unknown{operation="default"})"), 7u);
  EXPECT_EQ(scrape.count(R"(onceward_records_active{operation="default",state="unknown"})"), 7u);
  EXPECT_EQ(scrape.count(R"(onceward_records_active{operation="pay",state="succeeded"})"), 5u);
  EXPECT_EQ(scrape.samples.at("onceward_purge_lag_seconds"), "1.5");
  for (const auto& [series, value] : scrape.samples)
    EXPECT_EQ(series.find("/orders"), std::string::npos) << series;
}

TEST(Metrics, LabelsAreEscaped) {
  Metrics metrics({"a\"b\\c\nd"}, 1);
  EXPECT_THAT(metrics.render({}), HasSubstr(R"(onceward_replays_total{operation="a\"b\\c\nd"} 0)"));
}

TEST(Metrics, OperationsCanBeAddedAndKeepTheirCounts) {
  Metrics metrics({"a"}, 2);
  metrics.shard(0).operation(1).replays.add();
  EXPECT_EQ(metrics.operation("b"), 2u);
  EXPECT_EQ(metrics.operation("a"), 1u);
  EXPECT_EQ(metrics.operation("default"), 0u);
  metrics.shard(1).operation(2).replays.add();
  const Scrape scrape = read(metrics.render({}));
  EXPECT_EQ(scrape.count(R"(onceward_replays_total{operation="a"})"), 1u);
  EXPECT_EQ(scrape.count(R"(onceward_replays_total{operation="b"})"), 1u);
}

TEST(Metrics, TooManyOperationsCountAsDefault) {
  Metrics metrics({}, 1);
  std::size_t index = 0;
  for (std::size_t i = 1; i < Metrics::operations_max; ++i)
    index = metrics.operation("op" + std::to_string(i));
  EXPECT_EQ(index, Metrics::operations_max - 1);
  EXPECT_EQ(metrics.operation("one too many"), 0u);
}

TEST(Metrics, ScrapesAndReloadsMayRunWhileWorkersCount) {
  Metrics metrics({"a"}, 2);
  constexpr std::uint64_t each = 20'000;
  std::vector<std::thread> workers;
  for (std::size_t worker = 0; worker < 2; ++worker) {
    workers.emplace_back([&metrics, worker] {
      for (std::uint64_t i = 0; i < each; ++i)
        metrics.shard(worker).request(1, RequestOutcome::executed, 1ms);
    });
  }
  for (int i = 0; i < 20; ++i) {
    metrics.operation("new" + std::to_string(i));
    const Scrape scrape = read(metrics.render({}));
    EXPECT_TRUE(scrape.complaints.empty()) << testing::PrintToString(scrape.complaints);
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(
      read(metrics.render({})).count(R"(onceward_request_seconds_count{operation="a",outcome="executed"})"),
      2 * each);
}

}  // namespace
}  // namespace onceward
