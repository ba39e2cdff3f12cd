// The scrape: Prometheus text exposition format 0.0.4 of everything that Metrics has counted.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "ops/metrics.hpp"

namespace onceward {
namespace {

struct Label {
  std::string_view name;
  std::string_view value;
};
using Labels = std::vector<Label>;

std::string label_text(const Labels& labels) {
  if (labels.empty()) return {};
  std::string out = "{";
  for (const Label& label : labels) {
    if (out.size() > 1) out += ',';
    out += label.name;
    out += "=\"";
    for (char c : label.value) {
      if (c == '\\' || c == '"') out += '\\';
      out += c == '\n' ? "\\n" : std::string(1, c);
    }
    out += '"';
  }
  return out + '}';
}

// Seconds as a decimal without a trailing zero or an exponent: "0.0005", "2.5", "60".
std::string seconds_text(std::uint64_t nanoseconds) {
  std::string text = fmt::format("{}.{:09}", nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

class Page {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  void sample(const Labels& labels, std::string_view value, std::string_view suffix = {}) {
    fmt::format_to(std::back_inserter(text_), "{}{}{} {}\n", name_, suffix, label_text(labels), value);
  }
  void sample(const Labels& labels, std::uint64_t value, std::string_view suffix = {}) {
    sample(labels, std::to_string(value), suffix);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string_view name_;
  std::string text_;
};

// The sum of one histogram over all shards. The count is the sum of the buckets read, so that `+Inf` and
// `_count` agree although workers go on counting meanwhile.
struct HistogramSum {
  std::array<std::uint64_t, Histogram::bounds_us.size() + 1> buckets{};
  std::uint64_t sum_ns = 0;

  void add(const Histogram& histogram) {
    for (std::size_t i = 0; i < buckets.size(); ++i) buckets[i] += histogram.buckets[i].read();
    sum_ns += histogram.sum_ns.read();
  }
  bool empty() const {
    return std::ranges::all_of(buckets, [](std::uint64_t n) { return n == 0; });
  }
  void render(Page& page, const Labels& labels) const {
    std::uint64_t cumulative = 0;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      cumulative += buckets[i];
      const bool last = i == Histogram::bounds_us.size();
      const std::string bound = last ? "+Inf" : seconds_text(Histogram::bounds_us[i] * 1000);
      Labels with_bound = labels;
      with_bound.push_back({"le", bound});
      page.sample(with_bound, cumulative, "_bucket");
    }
    page.sample(labels, seconds_text(sum_ns), "_sum");
    page.sample(labels, cumulative, "_count");
  }
};

// One operation, all shards.
class OperationView {
 public:
  OperationView(std::string_view name, std::vector<const OperationMetrics*> shards)
      : name_(name), shards_(std::move(shards)) {}

  std::string_view name() const { return name_; }
  std::uint64_t sum(const std::function<const Count&(const OperationMetrics&)>& pick) const {
    std::uint64_t total = 0;
    for (const OperationMetrics* shard : shards_) total += pick(*shard).read();
    return total;
  }
  HistogramSum histogram(const std::function<const Histogram&(const OperationMetrics&)>& pick) const {
    HistogramSum total;
    for (const OperationMetrics* shard : shards_) total.add(pick(*shard));
    return total;
  }

 private:
  std::string_view name_;
  std::vector<const OperationMetrics*> shards_;
};
using Views = std::vector<OperationView>;

using PickCount = const Count& (*)(const OperationMetrics&);

void by_operation(Page& page, const Views& views, std::string_view name, std::string_view type,
                  std::string_view help, PickCount pick) {
  page.family(name, type, help);
  for (const OperationView& view : views) page.sample({{"operation", view.name()}}, view.sum(pick));
}

void render_claims(Page& page, const Views& views) {
  page.family("onceward_claims_total", "counter", "Claims by what they led to.");
  for (const OperationView& view : views) {
    for (std::size_t i = 0; i < claim_outcomes; ++i) {
      page.sample({{"operation", view.name()}, {"outcome", to_string(static_cast<ClaimOutcome>(i))}},
                  view.sum([i](const OperationMetrics& m) -> const Count& { return m.claims[i]; }));
    }
  }
}

void render_unknown_causes(Page& page, const Views& views) {
  page.family("onceward_unknown_total", "counter", "Outcomes that became unknown, by cause.");
  for (const OperationView& view : views) {
    for (std::size_t i = 1; i < std::tuple_size_v<decltype(OperationMetrics::unknown)>; ++i) {
      page.sample({{"operation", view.name()}, {"cause", to_string(static_cast<UnknownCause>(i))}},
                  view.sum([i](const OperationMetrics& m) -> const Count& { return m.unknown[i]; }));
    }
  }
}

void render_probes(Page& page, const Views& views) {
  page.family("onceward_probes_total", "counter",
              "Questions to the upstream about unknown outcomes, by answer.");
  for (const OperationView& view : views) {
    for (std::size_t i = 0; i < std::tuple_size_v<decltype(OperationMetrics::probes)>; ++i) {
      page.sample({{"operation", view.name()}, {"answer", to_string(static_cast<ProbeOutcome>(i))}},
                  view.sum([i](const OperationMetrics& m) -> const Count& { return m.probes[i]; }));
    }
  }
}

// The store's counts, with operations that the configuration does not name gathered under `default`.
std::map<std::pair<std::string_view, State>, std::uint64_t> known_records(const Views& views,
                                                                          const MetricGauges& gauges) {
  std::map<std::pair<std::string_view, State>, std::uint64_t> counts;
  for (const RecordCount& record : gauges.records) {
    const auto known = std::ranges::find(views, std::string_view(record.operation), &OperationView::name);
    counts[{known == views.end() ? views.front().name() : known->name(), record.state}] += record.count;
  }
  return counts;
}

void render_records(Page& page, const Views& views, const MetricGauges& gauges) {
  const auto counts = known_records(views, gauges);
  page.family("onceward_unknown", "gauge", "Records whose outcome is unknown now.");
  for (const OperationView& view : views) {
    const auto found = counts.find({view.name(), State::unknown});
    page.sample({{"operation", view.name()}}, found == counts.end() ? 0 : found->second);
  }
  page.family("onceward_records_active", "gauge", "Records in the store, by state.");
  for (const auto& [key, count] : counts)
    page.sample({{"operation", key.first}, {"state", to_string(key.second)}}, count);
}

std::string seconds_text(std::chrono::milliseconds length) {
  return seconds_text(static_cast<std::uint64_t>(std::max<std::int64_t>(0, length.count())) * 1'000'000);
}

void render_outbox(Page& page, const MetricGauges& gauges, const OutboxCounts& counts) {
  page.family("onceward_outbox_pending", "gauge", "Events that wait to be sent.");
  page.sample({}, gauges.outbox_pending);
  page.family("onceward_outbox_set_aside", "gauge", "Events that were given up and wait for an operator.");
  page.sample({}, gauges.outbox_set_aside);
  page.family("onceward_outbox_oldest_seconds", "gauge",
              "How long the oldest event that is not sent has waited.");
  page.sample({}, seconds_text(gauges.outbox_oldest));
  page.family("onceward_outbox_sent_total", "counter", "Events that this process sent.");
  page.sample({}, counts.sent.load(std::memory_order_relaxed));
  page.family("onceward_outbox_failed_total", "counter",
              "Attempts to send an event that were not confirmed.");
  page.sample({}, counts.failed.load(std::memory_order_relaxed));
}

void render_histograms(Page& page, const Views& views) {
  page.family("onceward_request_seconds", "histogram",
              "Time from request to answer, by what the client got.");
  for (const OperationView& view : views) {
    for (std::size_t i = 0; i < request_outcomes; ++i) {
      const HistogramSum sum =
          view.histogram([i](const OperationMetrics& m) -> const Histogram& { return m.request[i]; });
      // Combinations that never happen would be most of the page.
      if (!sum.empty())
        sum.render(page,
                   {{"operation", view.name()}, {"outcome", to_string(static_cast<RequestOutcome>(i))}});
    }
  }
  page.family("onceward_upstream_seconds", "histogram", "Time the upstream took to answer.");
  for (const OperationView& view : views) {
    const HistogramSum sum =
        view.histogram([](const OperationMetrics& m) -> const Histogram& { return m.upstream; });
    if (!sum.empty()) sum.render(page, {{"operation", view.name()}});
  }
}

}  // namespace

std::string Metrics::render(const MetricGauges& gauges) const {
  const std::lock_guard lock(mutex_);
  Views views;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    std::vector<const OperationMetrics*> blocks;
    for (const auto& shard : shards_) blocks.push_back(shard->owned_[i].get());
    views.emplace_back(names_[i], std::move(blocks));
  }

  using M = OperationMetrics;
  Page page;
  render_claims(page, views);
  by_operation(page, views, "onceward_replays_total", "counter", "Answers given from the store.",
               [](const M& m) -> const Count& { return m.replays; });
  by_operation(page, views, "onceward_fingerprint_mismatch_total", "counter",
               "Keys used again with a different request.",
               [](const M& m) -> const Count& { return m.mismatches; });
  by_operation(page, views, "onceward_in_progress", "gauge", "Guarded requests being executed now.",
               [](const M& m) -> const Count& { return m.in_progress; });
  by_operation(page, views, "onceward_in_progress_rejected_total", "counter",
               "Duplicates turned away because the first was still running.",
               [](const M& m) -> const Count& { return m.in_progress_rejected; });
  render_unknown_causes(page, views);
  render_probes(page, views);
  render_records(page, views, gauges);
  by_operation(page, views, "onceward_expired_total", "counter",
               "Duplicates of records that were only receipts.",
               [](const M& m) -> const Count& { return m.expired; });
  page.family("onceward_purge_lag_seconds", "gauge", "How long the oldest record due for purge is overdue.");
  page.sample({}, seconds_text(gauges.purge_lag));
  render_outbox(page, gauges, outbox_);
  std::uint64_t quota_rejected = 0;
  for (const auto& shard : shards_) quota_rejected += shard->quota_rejected.read();
  page.family("onceward_key_quota_rejected_total", "counter", "Requests refused because of a key quota.");
  page.sample({}, quota_rejected);
  by_operation(page, views, "onceward_suspected_duplicates_total", "counter",
               "Requests that looked like another one under a different key.",
               [](const M& m) -> const Count& { return m.suspected; });
  render_histograms(page, views);
  page.family("onceward_store_seconds", "histogram", "Time of one call to the store, by verb.");
  for (std::size_t i = 0; i < store_verbs; ++i) {
    HistogramSum sum;
    for (const auto& shard : shards_) sum.add(shard->store[i]);
    if (!sum.empty()) sum.render(page, {{"verb", to_string(static_cast<StoreVerb>(i))}});
  }
  page.family("onceward_store_errors_total", "counter",
              "Calls to the store that it could not answer, by verb.");
  for (std::size_t i = 0; i < store_verbs; ++i) {
    std::uint64_t errors = 0;
    for (const auto& shard : shards_) errors += shard->store_errors[i].read();
    page.sample({{"verb", to_string(static_cast<StoreVerb>(i))}}, errors);
  }
  return page.take();
}

}  // namespace onceward
