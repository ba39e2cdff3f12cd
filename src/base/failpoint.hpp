// Failpoints: named places, before and after every durable or network step, where a test makes the real
// program die, pause or fail. Only in builds with ONCEWARD_FAILPOINTS; elsewhere every call is a constant
// and nothing of them is left. Process-wide on purpose: what a test kills is a process. Armed once, before
// any thread starts; then hit from any thread.
//
//   ONCEWARD_FAILPOINT=complete.before:error@1-3,answer.before:kill@2
//
// An action is kill, stop (SIGSTOP: go on with SIGCONT), sleep=MS (of the thread that came by) or error.
// @n is the n-th time the point is passed, @n-m a range, nothing every time. Each action is announced by a
// line on stderr.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "onceward/result.hpp"

namespace onceward {

enum class Failpoint : std::uint8_t {
  lookup_before,
  lookup_after,
  claim_before,
  claim_after,
  dispatch_before,
  dispatch_after,
  renew_before,
  renew_after,
  complete_before,
  complete_after,
  release_before,
  release_after,
  unknown_before,
  unknown_after,
  resolve_before,
  resolve_after,
  purge_before,
  purge_after,
  connect_before,
  send_before,
  send_after,
  receive_after,  // the whole answer was read
  answer_before,  // no byte has gone to the client
  answer_after,
};
inline constexpr std::size_t failpoint_count = static_cast<std::size_t>(Failpoint::answer_after) + 1;

#ifdef ONCEWARD_FAILPOINTS

// Errc::invalid says what is wrong with the text. An empty one arms nothing.
Result<Done> arm_failpoints(std::string_view text);
bool failpoints_armed();
// Passes a point and does there what was asked for. True: fail here, as the point's step would.
bool fails_at(Failpoint point);

#else

inline Result<Done> arm_failpoints(std::string_view text) {
  // Running as if nothing had been asked for would make a test that cannot fail.
  if (!text.empty()) return Error{Errc::invalid, "ONCEWARD_FAILPOINT: this build has no failpoints"};
  return Done{};
}
constexpr bool failpoints_armed() { return false; }
constexpr bool fails_at(Failpoint) { return false; }

#endif

}  // namespace onceward
