// Outcome: what one caller of the engine is told. Exactly one of these, handled by one visible switch.
#pragma once

#include <memory>
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
};
// It ran without protection: observe mode, or an unreachable store under on_store_failure: open.
struct Unguarded {
  Effect effect;
  std::string_view would_have;  // what enforce would have done; empty when the store failed
};
struct Replayed {
  Record record;
};
struct Rejected {
  Rejection why;
  Record record;
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
