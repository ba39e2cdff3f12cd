// Metrics: counters and histograms of CONTRACT 7 in Prometheus text. Each worker thread owns one Shard
// and is the only one to write it, with relaxed atomics: the request path shares no lock and no cache
// line. A scrape, on any thread, sums the shards. Operations are known by index, so that a label can
// never be a raw path; index 0 is `default`, for requests that match no entry.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/reconciler.hpp"
#include "onceward/values.hpp"

namespace onceward {

// What a claim led to.
enum class ClaimOutcome : std::uint8_t {
  granted,
  replay,
  mismatch,
  in_progress,
  unknown,
  expired,
  not_stored,
  duplicate,
  refused,
  unavailable,
  unreadable,
};
inline constexpr std::size_t claim_outcomes = 11;

// What the client of one proxied request got.
enum class RequestOutcome : std::uint8_t {
  passed,    // not guarded
  executed,  // first request, the upstream's answer
  replayed,
  mismatch,
  in_progress,  // 409 or 202
  unknown,
  rejected,     // any other 4xx of Onceward
  unavailable,  // store or capacity: 503
  unreachable,  // upstream refused: 502
  observed,     // mode: observe
};
inline constexpr std::size_t request_outcomes = 10;

enum class StoreVerb : std::uint8_t {
  claim,
  dispatch,
  renew,
  complete,
  release,
  unknown,
  resolve,
  lookup,
  list,
  purge,
};
inline constexpr std::size_t store_verbs = 10;

std::string_view to_string(ClaimOutcome outcome);
std::string_view to_string(RequestOutcome outcome);
std::string_view to_string(StoreVerb verb);

// A number that one thread writes and any thread reads.
class Count {
 public:
  void add(std::uint64_t n = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  void subtract(std::uint64_t n = 1) { add(~n + 1); }
  std::uint64_t read() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Histogram {
 public:
  static constexpr std::array<std::uint64_t, 16> bounds_us = {
      500,     1'000,   2'500,     5'000,     10'000,    25'000,     50'000,     100'000,
      250'000, 500'000, 1'000'000, 2'500'000, 5'000'000, 10'000'000, 30'000'000, 60'000'000};
  void observe(std::chrono::nanoseconds elapsed);

  std::array<Count, bounds_us.size() + 1> buckets;  // not cumulative; the last is beyond all bounds
  Count sum_ns;
};

struct OperationMetrics {
  std::array<Count, claim_outcomes> claims;
  Count replays;
  Count mismatches;
  Count in_progress;  // a gauge: enter adds, leave subtracts, on the same worker
  Count in_progress_rejected;
  std::array<Count, 9> unknown;  // by UnknownCause
  Count expired;
  Count suspected;
  std::array<Count, 5> probes;  // by ProbeOutcome
  std::array<Histogram, request_outcomes> request;
  Histogram upstream;
};

// What the store knows at the moment of a scrape.
struct RecordCount {
  std::string operation;
  State state = State::processing;
  std::uint64_t count = 0;
};
struct MetricGauges {
  std::vector<RecordCount> records;
  std::chrono::milliseconds purge_lag{0};
  std::uint64_t outbox_pending = 0;
  std::uint64_t outbox_set_aside = 0;
  std::chrono::milliseconds outbox_oldest{0};
};

// Of this process's relay, written on its thread.
struct OutboxCounts {
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> failed{0};
};

class Metrics {
 public:
  static constexpr std::size_t operations_max = 1024;

  class alignas(64) Shard {
   public:
    // The worker's own block for an operation's index, from Metrics::operation().
    OperationMetrics& operation(std::size_t index) {
      return *operations_[index].load(std::memory_order_acquire);
    }
    std::array<Histogram, store_verbs> store;
    std::array<Count, store_verbs> store_errors;
    Count quota_rejected;

    void claim(std::size_t op, ClaimOutcome outcome) { at(operation(op).claims, outcome).add(); }
    void unknown(std::size_t op, UnknownCause cause) { at(operation(op).unknown, cause).add(); }
    void probe(std::size_t op, ProbeOutcome outcome) { at(operation(op).probes, outcome).add(); }
    void request(std::size_t op, RequestOutcome outcome, std::chrono::nanoseconds elapsed) {
      at(operation(op).request, outcome).observe(elapsed);
    }
    void store_call(StoreVerb verb, std::chrono::nanoseconds elapsed, bool failed = false) {
      at(store, verb).observe(elapsed);
      if (failed) at(store_errors, verb).add();
    }

   private:
    friend class Metrics;
    // The return type is spelled out: clang 19 breaks on a deduced one that is used further up.
    template <class A, class E>
    static typename A::value_type& at(A& array, E index) {
      return array[static_cast<std::size_t>(index)];
    }
    std::array<std::atomic<OperationMetrics*>, operations_max> operations_{};
    std::vector<std::unique_ptr<OperationMetrics>> owned_;
  };

  Metrics(const std::vector<std::string>& operations, std::size_t shards);

  Shard& shard(std::size_t worker) { return *shards_[worker]; }
  OutboxCounts& outbox() { return outbox_; }

  // The index of an operation's name, added when new (reload). Past operations_max: 0, the default.
  // Any thread, not the request path.
  std::size_t operation(std::string_view name);
  // The same without adding: what is not known counts as the default, so that a raw path is never a label.
  std::size_t known_operation(std::string_view name) const;

  std::string render(const MetricGauges& gauges) const;

 private:
  std::size_t find_or_add(std::string_view name);

  mutable std::mutex mutex_;  // names and the growth of shards, never the request path
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<Shard>> shards_;
  OutboxCounts outbox_;
};

}  // namespace onceward
