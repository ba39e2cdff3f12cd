#include "engine/probe_schedule.hpp"

#include <algorithm>
#include <cstring>

namespace onceward {
namespace {

constexpr std::uint32_t doublings_max = 5;
constexpr Duration pause_longest = std::chrono::minutes(10);
constexpr Duration idle_longest = std::chrono::hours(1);

}  // namespace

Duration probe_pause(const ProbePolicy& policy, std::uint32_t asked, std::uint16_t chance) {
  const Duration backed_off = policy.every * (1u << std::min(asked, doublings_max));
  const Duration pause = std::min(backed_off, std::max(pause_longest, policy.every));
  const std::int64_t tenth = pause.count() / 10;
  return pause - Duration(tenth) + Duration(2 * tenth * chance / 65535);
}

bool ProbeRate::take(MonoTime now) {
  if (now >= second_began_ + std::chrono::seconds(1)) {
    second_began_ = now;
    left_ = per_second_;
  }
  if (left_ == 0) return false;
  --left_;
  return true;
}

std::size_t ProbeSchedule::HashScope::operator()(const Scope& scope) const {
  std::size_t hash = 0;
  std::memcpy(&hash, scope.data.data(), sizeof hash);
  return hash;
}

ProbeSchedule::Verdict ProbeSchedule::begin(const Record& record, const ProbePolicy& policy, Now now) {
  const auto found = entries_.find(record.scope);
  if (found == entries_.end() && entries_.size() >= records_max) return Verdict::not_yet;
  Entry& entry = found == entries_.end() ? entries_[record.scope] : found->second;
  if (entry.epoch != record.epoch && !entry.asking) {
    // Since when it is unknown is the store's time; how long to wait is measured on the monotonic clock.
    const Duration unknown_for = std::max(now.wall - record.updated_at, Duration::zero());
    entry = {.epoch = record.epoch, .due = now.mono + policy.every - std::min(unknown_for, policy.every)};
  }
  entry.touched = now.mono;
  const bool is_over = now.wall - record.updated_at >= policy.give_up;  // a reload may have made it longer
  if (entry.gave_up && is_over) return Verdict::gave_up;
  if (entry.asking || now.mono < entry.due) return Verdict::not_yet;
  entry.gave_up = is_over;
  if (is_over) return Verdict::gives_up;
  if (!rate_.take(now.mono)) return Verdict::not_yet;
  entry.asking = true;
  return Verdict::go;
}

void ProbeSchedule::not_settled(const Scope& scope, const ProbePolicy& policy, MonoTime now,
                                std::uint16_t chance) {
  const auto found = entries_.find(scope);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  entry.asking = false;
  entry.due = now + probe_pause(policy, entry.asked, chance);
  ++entry.asked;
}

void ProbeSchedule::forget_idle(MonoTime now) {
  std::erase_if(entries_, [now](const auto& item) {
    return !item.second.asking && now >= item.second.touched + idle_longest;
  });
}

}  // namespace onceward
