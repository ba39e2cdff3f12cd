// Claim: one command's lifecycle by hand, for work that does not fit into one call: a batch job, a saga
// step, a message handler. Claim; dispatch just before the first effect; renew while it takes long; then
// complete, fail, release or unknown. Every step is refused with Errc::stale when the claim is no longer
// ours. One thread at a time; the calls block.
//
//   onceward::ClaimResult result = engine.claim(command);
//   if (!result.claim) return result.outcome;         // replayed, in progress, another payload, …
//   if (!result.claim->dispatch()) return …;          // from here on it may have happened
//   result.claim->complete(charge(card));
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "onceward/engine.hpp"

namespace onceward {

namespace api {

class ONCEWARD_API Claim {
 public:
  Claim(Claim&&) noexcept;
  Claim& operator=(Claim&&) noexcept;
  // A claim that is dropped before dispatch is released: provably nothing happened. One that is dropped
  // after it becomes unknown: it may have happened, and nobody said.
  ~Claim();

  const Ticket& ticket() const;
  bool dispatched() const;

  Result<Done> dispatch();
  // The lease ends by itself after the policy's `lease`; call this at a third of it.
  Result<Done> renew();
  // The outcome; accepted with or without dispatch, and late, as long as nobody else decided. Repeating
  // the same is harmless. After one of these four the claim is over.
  Result<Done> complete(std::string value, OperationResult result = {});
  Result<Done> fail(std::string value, OperationResult result = {});
  // Of kind succeeded or failed, with its events. Errc::invalid, and nothing written, when these cannot be
  // kept.
  Result<Done> complete(Effect effect);
  Result<Done> release();
  Result<Done> unknown();

  class State;
  explicit Claim(std::unique_ptr<State> state);

 private:
  std::unique_ptr<State> state_;
};

struct ClaimResult {
  std::optional<Claim> claim = {};  // ours: go on
  Outcome outcome = {};             // else why not, or the kept value; with a claim only its ids
};

}  // namespace api

}  // namespace onceward
