// What follows from a Policy (the values are public: onceward/policy.hpp). Pure, any thread.
#pragma once

#include <optional>

#include "onceward/policy.hpp"

namespace onceward {

// The length of the longest time a duplicate waits: the policy's, or the client's `Prefer: wait=N`.
Duration wait_limit(const InProgressPolicy& policy, std::optional<Duration> preferred);

}  // namespace onceward
