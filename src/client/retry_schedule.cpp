#include "client/retry_schedule.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace onceward::client {
namespace {

Duration part_of(Duration whole, double chance) {
  return Duration(static_cast<Duration::rep>(static_cast<double>(whole.count()) * chance));
}

}  // namespace

Duration backoff(const RetryPolicy& policy, std::size_t retry) {
  Duration longest = std::min(policy.first_delay, policy.max_delay);
  for (std::size_t i = 0; i < retry && longest < policy.max_delay; ++i)
    longest = std::min(longest * 2, policy.max_delay);
  return longest;
}

std::variant<Pause, GiveUp> next_pause(const RetryPolicy& policy, const Progress& progress, Action action,
                                       std::optional<Duration> retry_after, double chance, MonoTime now) {
  ONCEWARD_ASSERT(action == Action::retry || action == Action::wait);
  if (action == Action::retry && progress.attempts >= policy.attempts)
    return GiveUp{"all attempts were used"};
  const std::size_t tries = action == Action::wait ? progress.waits : progress.attempts;
  const Duration pause = retry_after ? *retry_after + part_of(policy.first_delay, chance)
                                     : part_of(backoff(policy, tries == 0 ? 0 : tries - 1), chance);
  const MonoTime end = progress.started + policy.deadline;
  if (now >= end) return GiveUp{"the deadline has passed"};
  // Waiting for an answer that would come too late helps nobody.
  if (pause >= end - now) {
    return GiveUp{retry_after && *retry_after >= end - now
                      ? "the server asks to wait for longer than the deadline"
                      : "the deadline would pass before the next attempt"};
  }
  return Pause{pause};
}

}  // namespace onceward::client
