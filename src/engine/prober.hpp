// Prober: how the upstream is asked what became of an operation. The proxy sends a GET, a test answers from
// a script. One per worker; all calls on the thread of its executor.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "base/task.hpp"
#include "core/policy.hpp"
#include "onceward/values.hpp"

namespace onceward {

// It happened; what a retry gets from now on.
struct Applied {
  std::shared_ptr<const Response> response;
  std::shared_ptr<const OperationResult> result{};
};
// It did not happen, and will not: the key may run again.
struct NotApplied {};
// Nothing follows from what came back, if anything did.
struct CannotTell {
  std::string why;
};
using ProbeAnswer = std::variant<Applied, NotApplied, CannotTell>;

class Prober {
 public:
  virtual ~Prober() = default;
  // The rules of an operation by its name; null when there are none (any more).
  virtual std::shared_ptr<const Policy> policy_of(std::string_view operation) const = 0;
  // Whether any operation is probed at all.
  virtual bool probes_anything() const = 0;
  // No question takes longer than this.
  virtual Duration time_limit() const = 0;
  virtual Task<ProbeAnswer> ask(const Record& record, const Policy& policy) = 0;
};

}  // namespace onceward
