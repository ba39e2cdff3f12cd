// Outcome: what one caller of the engine is told. Exactly one of these, handled by one visible switch.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "core/decide.hpp"
#include "engine/work.hpp"
#include "onceward/values.hpp"

namespace onceward {

// This caller's work ran. `record` is the claim it ran under.
struct Executed {
  Record record;
  Effect effect;
  bool stored = true;  // false: the true answer, but the store failed after the effect
  // The work stored its outcome itself, with its effect, and what came back (if anything did) says something
  // else: `effect` is what was stored.
  bool committed = false;
  std::optional<OperationId> like{};  // another operation that it may be a duplicate of (suspect: flag)
};
// It ran without protection: observe mode, or an unreachable store under on_store_failure: open.
struct Unguarded {
  Effect effect;
  std::string_view would_have;  // what enforce would have done; empty when the store failed
};
struct Replayed {
  Record record;
  bool suspected = false;  // of another key: the request is the like of one that was just sent
};
struct Rejected {
  Rejection why;
  Record record;  // that stands in the way; of one that is gone only the operation id (epoch 0)
};
struct StillRunning {
  Record record;
};
// Nothing was claimed and nothing sent.
struct Unreachable {
  std::string message;
};
struct OverQuota {
  Duration retry_after{};
};
struct StoreFailed {
  Error error;
};

using Outcome =
    std::variant<Executed, Unguarded, Replayed, Rejected, StillRunning, Unreachable, OverQuota, StoreFailed>;

}  // namespace onceward
