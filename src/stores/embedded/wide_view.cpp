#include "stores/embedded/wide_view.hpp"

#include <set>

namespace onceward::embedded {
namespace {

constexpr int rounds_max = 100;  // each has seen another verb succeed

}  // namespace

bool WideView::add(const Scope& scope, bool wanted) {
  const auto [at, added] = seen_.try_emplace(scope);
  at->second.wanted = wanted || (!added && at->second.wanted);
  return added;
}

void WideView::lock() {
  std::set<std::size_t> numbers;
  for (const auto& [scope, seen] : seen_) numbers.insert(number_of(scope));
  for (const std::size_t number : numbers) locks_.emplace_back(shards_[number].mutex);
}

bool WideView::look_at(const Scope& scope, Seen& seen) {
  Place place = shard_of(scope).find(scope);
  if (place.kind == Place::pending) pending_ = place.write;
  const bool on_disk =
      place.kind == Place::recent || place.kind == Place::sealed || place.kind == Place::damaged;
  const bool known = !seen.wanted || !on_disk || (seen.was_read && place.same_as(seen.place));
  seen.place = std::move(place);
  return known;
}

Result<Done> WideView::look() {
  for (int round = 0; round < rounds_max; ++round) {
    unlock();
    lock();
    pending_ = nullptr;
    std::vector<std::pair<Scope, Seen*>> to_read;
    for (auto& [scope, seen] : seen_) {
      if (shard_of(scope).stopped) {
        unlock();
        return Error{Errc::unavailable, "the store has stopped after a failed write"};
      }
      if (!look_at(scope, seen)) to_read.emplace_back(scope, &seen);
    }
    if (pending_ || to_read.empty()) return Done{};
    unlock();
    for (const auto& [scope, seen] : to_read) {
      Result<std::optional<Record>> stored = read_place(seen->place, scope, &seen->found_in);
      if (!stored) return stored.error();
      seen->stored = std::move(*stored);
      seen->was_read = true;
    }
  }
  return Error{Errc::unavailable, "the records change faster than they can be read"};
}

const Record* WideView::record(const Scope& scope) const {
  const Seen& seen = seen_.at(scope);
  if (seen.place.kind == Place::open) return seen.place.record;
  if (seen.place.kind == Place::none || !seen.stored) return nullptr;
  return &*seen.stored;
}

bool WideView::is_counted(const Scope& scope) const {
  const Seen& seen = seen_.at(scope);
  if (seen.place.kind == Place::open) return true;
  const Shard::CountedOut& out = shard_of(scope).counted_out;
  const bool counted_out =
      seen.found_in != 0 && seen.found_in == out.segment && scope_prefix(scope) <= out.prefix;
  return record(scope) != nullptr && !counted_out;
}

}  // namespace onceward::embedded
