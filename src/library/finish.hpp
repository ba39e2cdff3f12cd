// What a Finish shares between its copies: the handover to the engine, and the effect as the caller gave
// it, which may be larger than what is kept.
#pragma once

#include <atomic>
#include <memory>

#include "library/pending_work.hpp"
#include "onceward/engine.hpp"

namespace onceward::api {

// What becomes of an effect's parts.
struct Keeping {
  std::size_t max_response = 0;
  bool events = false;  // the store keeps them
};

class Finish::State {
 public:
  State(std::shared_ptr<Delivery> delivery, const Keeping& keeping, std::shared_ptr<Effect> given)
      : delivery_(std::move(delivery)), keeping_(keeping), given_(std::move(given)) {}
  ~State() { finish(Effect::unknown("the work ended without saying how")); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void finish(Effect effect);

 private:
  std::shared_ptr<Delivery> delivery_;
  const Keeping keeping_;
  std::shared_ptr<Effect> given_;  // read by whoever words the outcome, after the handover
  std::atomic<bool> finished_{false};
};

// A value as records keep it.
Response kept_response(const Effect& effect, std::size_t max_response);
std::shared_ptr<const OperationResult> kept_result(const Effect& effect);  // null: it says nothing
// Why its events cannot be kept; empty: they can, or there are none.
std::string events_refusal(const Effect& effect, bool store_keeps_events);

}  // namespace onceward::api
