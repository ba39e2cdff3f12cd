#include "ops/metrics.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace onceward {
namespace {

constexpr std::array<std::string_view, claim_outcomes> claim_outcome_names = {
    "granted",    "replay",    "mismatch", "in_progress", "unknown",   "expired",
    "not_stored", "duplicate", "refused",  "unavailable", "unreadable"};
constexpr std::array<std::string_view, request_outcomes> request_outcome_names = {
    "passed",  "executed", "replayed",    "mismatch",    "in_progress",
    "unknown", "rejected", "unavailable", "unreachable", "observed"};
constexpr std::array<std::string_view, store_verbs> store_verb_names = {
    "claim", "dispatch", "renew", "complete", "release", "unknown", "resolve", "lookup", "list", "purge"};

}  // namespace

std::string_view to_string(ClaimOutcome outcome) {
  return claim_outcome_names[static_cast<std::size_t>(outcome)];
}
std::string_view to_string(RequestOutcome outcome) {
  return request_outcome_names[static_cast<std::size_t>(outcome)];
}
std::string_view to_string(StoreVerb verb) { return store_verb_names[static_cast<std::size_t>(verb)]; }

void Histogram::observe(std::chrono::nanoseconds elapsed) {
  const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(0, elapsed.count()));
  // A bound is inclusive (`le`), so compare nanoseconds: 500.1 µs is not within 500 µs.
  const auto* bound = std::ranges::find_if(bounds_us, [ns](std::uint64_t us) { return ns <= us * 1000; });
  buckets[static_cast<std::size_t>(bound - bounds_us.begin())].add();
  sum_ns.add(ns);
}

Metrics::Metrics(const std::vector<std::string>& operations, std::size_t shards) {
  ONCEWARD_ASSERT(shards > 0);
  for (std::size_t i = 0; i < shards; ++i) shards_.push_back(std::make_unique<Shard>());
  const std::lock_guard lock(mutex_);
  find_or_add("default");
  for (const std::string& name : operations) find_or_add(name);
}

std::size_t Metrics::operation(std::string_view name) {
  const std::lock_guard lock(mutex_);
  return find_or_add(name);
}

std::size_t Metrics::known_operation(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() ? 0 : static_cast<std::size_t>(found - names_.begin());
}

std::size_t Metrics::find_or_add(std::string_view name) {
  const auto found = std::ranges::find(names_, name);
  if (found != names_.end()) return static_cast<std::size_t>(found - names_.begin());
  if (names_.size() == operations_max) return 0;
  const std::size_t index = names_.size();
  for (const auto& shard : shards_) {
    // Published with release: a worker that learns the index sees a whole block.
    shard->owned_.push_back(std::make_unique<OperationMetrics>());
    shard->operations_[index].store(shard->owned_.back().get(), std::memory_order_release);
  }
  names_.emplace_back(name);
  return index;
}

}  // namespace onceward
