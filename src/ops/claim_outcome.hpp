// What metrics call a claim that was rejected: the proxy and the sidecar count in the same words.
#pragma once

#include "core/decide.hpp"
#include "ops/metrics.hpp"

namespace onceward {

inline ClaimOutcome claim_outcome(Rejection why) {
  switch (why) {
    case Rejection::mismatch:
      return ClaimOutcome::mismatch;
    case Rejection::unknown:
      return ClaimOutcome::unknown;
    case Rejection::expired:
      return ClaimOutcome::expired;
    case Rejection::not_stored:
      return ClaimOutcome::not_stored;
    case Rejection::duplicate_fact:
    case Rejection::suspected:
      return ClaimOutcome::duplicate;
  }
  return ClaimOutcome::mismatch;
}

}  // namespace onceward
