// What goes wrong in one world: the shares (of 1000) of each fault, drawn from the seed; and the
// mutants, worlds in which one part is wrong on purpose and the judge must notice.
#pragma once

#include <array>
#include <string_view>

#include "simulation/chance.hpp"

namespace onceward::simulation {

enum class Mutant {
  none,
  forward_before_claim,
  answer_before_store,
  lease_end_reexecutes,
  release_without_compare,
  complete_without_compare,
  no_sync,
  unreadable_is_a_miss,
  purge_without_epoch,
  resend_on_eof,
  scope_without_tenant,
  scope_without_caller,
  half_answer_stored,
  wall_clock_lease,
  rejected_duplicate_frees_the_winner,
  store_error_means_not_written,
  mark_freed_on_unknown,
  mark_outside_the_step,
  count,
};

constexpr std::array<std::string_view, static_cast<std::size_t>(Mutant::count)> mutant_names = {
    "none",
    "forward_before_claim",
    "answer_before_store",
    "lease_end_reexecutes",
    "release_without_compare",
    "complete_without_compare",
    "no_sync",
    "unreadable_is_a_miss",
    "purge_without_epoch",
    "resend_on_eof",
    "scope_without_tenant",
    "scope_without_caller",
    "half_answer_stored",
    "wall_clock_lease",
    "rejected_duplicate_frees_the_winner",
    "store_error_means_not_written",
    "mark_freed_on_unknown",
    "mark_outside_the_step",
};

struct Faults {
  // Store
  int lost_request = 0;
  int lost_reply = 0;
  int late_request = 0;  // of the lost ones: arrives after all, seconds later
  int refused = 0;
  int slow_reply = 0;
  int lost_wake_up = 0;
  // Upstream
  int connect_refused = 0;
  int not_sent = 0;
  int request_lost = 0;
  int request_slow = 0;
  int answer_lost = 0;
  int answer_slow = 0;
  int answer_half = 0;
  int reset = 0;
  int odd_status = 0;
  // Processes and people; per opportunity, which comes about once a second
  int crash = 0;
  int pause = 0;
  int wall_jump = 0;
  int store_crash = 0;
  int unreadable = 0;
  int operator_resolves = 0;
  int operator_purges = 0;
  int leaves = 0;
  // A gentle world only loses replies, never two of a port in a row. No key may end unknown in it.
  bool gentle = false;
};

inline Faults draw_faults(Chance& chance) {
  Faults f;
  if (chance.in_1000(100)) {
    f.gentle = true;
    f.lost_reply = 150;
    f.leaves = 50;
    return f;
  }
  const auto maybe = [&](int most) {
    return chance.in_1000(600) ? static_cast<int>(chance.below(static_cast<std::uint64_t>(most))) : 0;
  };
  f.lost_request = maybe(150);
  f.lost_reply = maybe(150);
  f.late_request = maybe(800);
  f.refused = maybe(60);
  f.slow_reply = maybe(150);
  f.lost_wake_up = maybe(1000);
  f.connect_refused = maybe(200);
  f.not_sent = maybe(150);
  f.request_lost = maybe(150);
  f.request_slow = maybe(150);
  f.answer_lost = maybe(200);
  f.answer_slow = maybe(200);
  f.answer_half = maybe(150);
  f.reset = maybe(200);
  f.odd_status = maybe(600);
  f.crash = maybe(150);
  f.pause = maybe(250);
  f.wall_jump = maybe(300);
  f.store_crash = maybe(100);
  f.unreadable = maybe(150);
  f.operator_resolves = maybe(900);
  f.operator_purges = maybe(200);
  f.leaves = maybe(200);
  return f;
}

}  // namespace onceward::simulation
