// Work: what a granted claim runs, once. The proxy's work sends a request upstream, a library's calls
// a function, the simulation's touches a ledger. All calls come on the executor that runs the claim.
#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/task.hpp"
#include "core/policy.hpp"
#include "onceward/result.hpp"
#include "onceward/values.hpp"

namespace onceward {

// The work was done and answered.
struct Answer {
  std::shared_ptr<const Response> response;
  OutcomeClass outcome = OutcomeClass::replay;
  std::optional<Duration> ttl;
  std::shared_ptr<const OperationResult> result{};         // null: nothing is known of it
  std::shared_ptr<const std::vector<Emission>> emitted{};  // null: the work has nothing of its own to tell
};
// Provably nothing left this process.
struct NotSent {
  std::string message;
};
// It may have happened; nobody knows.
struct NoAnswer {
  Evidence evidence;
};
using Effect = std::variant<Answer, NotSent, NoAnswer>;

// The right to send: the lease may end while the work waits for something.
class Hold {
 public:
  virtual bool is_held() const = 0;  // by the clock, now

 protected:
  ~Hold() = default;
};

// What the work may tell its upstream, and until when it may hold the key.
struct Grant {
  OperationId operation_id;
  Epoch epoch = 0;
  MonoTime hold_until{};
  OwnerNonce owner{};          // of the claim: what a token for the upstream is made of
  Duration age{};              // of the key when it was claimed: since its first claim, by the store's clock
  MonoTime now{};              // measured just before, when the lease was held
  const Hold* hold = nullptr;  // to be asked by who has waited since; null: unguarded

  bool is_held() const { return !hold || hold->is_held(); }
};

class Work {
 public:
  virtual ~Work() = default;
  // True when it could start this instant (an idle connection is checked out); takes what it needs.
  virtual bool ready() = 0;
  // Makes it so, before any claim: a refused connection then leaves no record.
  virtual Task<Result<Done>> prepare() = 0;
  // Gives back what ready() or prepare() took: somebody else runs, or nobody.
  virtual void stand_down() = 0;
  // Runs it. Called at most once, with a durable claim (I1), or unguarded with epoch 0.
  virtual Task<Effect> execute(Grant grant) = 0;
  // After a NoAnswer: goes on listening until grant.hold_until. A late whole answer, or nothing.
  virtual Task<std::optional<Answer>> late() = 0;
};

}  // namespace onceward
