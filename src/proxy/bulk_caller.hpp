// BulkCaller: the client that waits for a bulk request, either for its outcome or, when it has said that it
// accepts less, until its patience is over and the work has begun. The work does not depend on it (I11).
// Lives in the frame of the request; one thread.
#pragma once

#include <coroutine>
#include <optional>

#include "engine/engine.hpp"

namespace onceward {

class BulkCaller final : public Engine::Caller, Timer {
 public:
  // Without a patience it stays for the outcome.
  BulkCaller(Executor& executor, const Clock& clock, std::optional<Duration> patience);
  ~BulkCaller() override { executor_.cancel(*this); }
  BulkCaller(const BulkCaller&) = delete;
  BulkCaller& operator=(const BulkCaller&) = delete;

  void told(Outcome outcome) override;
  void begun(const Grant& grant);

  // co_await: afterwards there is an outcome, or there is none yet and a grant.
  bool await_ready() const noexcept { return is_over(); }
  void await_suspend(std::coroutine_handle<> waiting) noexcept { waiting_ = waiting; }
  void await_resume() const noexcept {}

  std::optional<Outcome>& outcome() { return outcome_; }
  const Grant& grant() const { return *grant_; }

 private:
  bool is_over() const { return outcome_ || (impatient_ && grant_); }
  void look() {
    if (waiting_ && is_over()) std::exchange(waiting_, nullptr).resume();
  }

  Executor& executor_;
  bool impatient_ = false;
  std::optional<Outcome> outcome_;
  std::optional<Grant> grant_;
  std::coroutine_handle<> waiting_;
};

}  // namespace onceward
