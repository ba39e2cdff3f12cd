// What the files of Execution share: asking the store, timed, and telling everybody. Only for them.
#pragma once

#include "base/await.hpp"
#include "engine/execution.hpp"

namespace onceward {

inline constexpr Duration retry_first{20};
inline constexpr Duration retry_longest{1000};

inline bool is_worth_repeating(const Error& error) {
  return error.code == Errc::unavailable || error.code == Errc::refused;
}

// Of the store itself; what does not exist or is not allowed is an answer.
inline bool is_failure(const Error& error) {
  return is_worth_repeating(error) || error.code == Errc::unreadable;
}

template <class T, class Start>
class Engine::Execution::Timed : public StoreAsk<T, Start> {
 public:
  Timed(Execution& execution, KeptReply<T>& reply, std::string_view verb, MonoTime began, Start start)
      : StoreAsk<T, Start>(reply, std::move(start)), execution_(execution), verb_(verb), began_(began) {}

  Result<T>& await_resume() {
    Result<T>& result = StoreAsk<T, Start>::await_resume();
    if (EngineObserver* observer = execution_.command_.observer) {
      const MonoTime now = execution_.engine_.clock_.mono();
      observer->store_answered(verb_, now - began_, !result && is_failure(result.error()));
    }
    return result;
  }

 private:
  Execution& execution_;
  const std::string_view verb_;
  const MonoTime began_;
};

template <class T, class Start>
auto Engine::Execution::timed(KeptReply<T>& reply, std::string_view verb, MonoTime began, Start start) {
  return Timed<T, Start>(*this, reply, verb, began, std::move(start));
}

inline auto Engine::Execution::timed_claim(MonoTime began) {
  return timed(claimed_, "claim", began,
               [this](auto& reply) { return engine_.store_.claim(request_, reply); });
}

inline auto Engine::Execution::timed_lookup(const Scope& scope) {
  return timed(record_, "lookup", engine_.clock_.mono(),
               [this, &scope](auto& reply) { return engine_.store_.lookup(scope, reply); });
}

inline auto Engine::Execution::timed_complete(const CompleteRequest& request) {
  return timed(record_, "complete", engine_.clock_.mono(),
               [this, &request](auto& reply) { return engine_.store_.complete(request, reply); });
}

template <class As, class Told>
void Engine::Execution::finish(const Ending& followers, Told&& leader) {
  leave_admission();
  // First out of the table, then the answer: a retry that follows the answer must find the store's word.
  engine_.flights_.end(flight_, followers);
  engine_.flights_.tell_leader<As>(flight_, std::forward<Told>(leader));
}

}  // namespace onceward
