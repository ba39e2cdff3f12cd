// OutcomeCache: a place beside the authority that may know final records and may forget them at any time.
// It decides nothing: whatever it loses, holds back or answers late costs a question to the authority.
// Callable from any thread; replies as a Store's are.
#pragma once

#include <functional>
#include <string>

#include "onceward/store.hpp"

namespace onceward {

class OutcomeCache {
 public:
  virtual ~OutcomeCache() = default;

  // False: asking would only cost time (no connection). May change at any moment.
  virtual bool is_reachable() const = 0;
  // The bytes kept under this scope. Every error is a miss, Errc::not_found the ordinary one.
  virtual bool get(const Scope&, Reply<std::string>&) = 0;
  // Nobody waits for it. The bytes are gone after `life` at the latest.
  virtual void put(const Scope&, std::string bytes, Duration life) = 0;
  virtual bool remove(const Scope&, Reply<Done>&) = 0;

  // Tells every process that watches this scope that its record has changed; may be lost.
  virtual void announce(const Scope&) = 0;
  virtual void watch(const Scope&, std::function<void()> changed) = 0;
  virtual void unwatch(const Scope&) = 0;
};

}  // namespace onceward
