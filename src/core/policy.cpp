#include "core/policy.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace onceward {

OutcomeTable::OutcomeTable() {
  by_status_.fill(OutcomeClass::replay);
  for (int status : {401, 403, 407, 408, 413, 421, 425, 426, 429, 431, 503}) set(status, OutcomeClass::retry);
  for (int status : {502, 504}) set(status, OutcomeClass::unknown);
}

OutcomeClass OutcomeTable::of(int status) const {
  // Anything that HTTP does not define is no statement about the effect.
  if (status < 100 || status >= 600) return OutcomeClass::unknown;
  return by_status_[static_cast<std::size_t>(status)];
}

void OutcomeTable::set(int status, OutcomeClass outcome) {
  ONCEWARD_ASSERT(status >= 100 && status < 600);
  by_status_[static_cast<std::size_t>(status)] = outcome;
}

void OutcomeTable::set_class(int hundreds, OutcomeClass outcome) {
  for (int status = hundreds * 100; status < hundreds * 100 + 100; ++status) set(status, outcome);
}

Duration wait_limit(const InProgressPolicy& policy, std::optional<Duration> preferred) {
  return std::min(preferred.value_or(policy.wait), policy.max_wait);
}

}  // namespace onceward
