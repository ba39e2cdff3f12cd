// The marks that a request takes with its claim: what its operation calls a business fact (`unique`) or a
// likeness
// (`suspect`), hashed. Pure; any thread.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/policy.hpp"
#include "onceward/values.hpp"

namespace onceward {

struct MarkedRequest {
  std::optional<std::string_view> tenant;
  std::optional<std::string_view> caller;
  std::string_view operation;
  std::string_view body;
  bool confirmed = false;  // the caller says that it means another one, whatever it is like
};

// Values count as in a fingerprint: 100 and 1e2 are the same. A body that is not JSON has no values.
std::vector<Mark> marks_of(const Policy& policy, const MarkedRequest& request, std::string_view secret);

}  // namespace onceward
