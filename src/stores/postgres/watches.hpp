// Watches: who in this process wants to hear that a record may have left claimed/processing. Any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>

#include "onceward/values.hpp"

namespace onceward::postgres {

class Watches {
 public:
  void add(const Scope& scope, std::function<void()> changed) {
    std::lock_guard lock(mutex_);
    watches_[scope] = std::move(changed);
  }
  void remove(const Scope& scope) {
    std::lock_guard lock(mutex_);
    watches_.erase(scope);
  }
  // Under the lock, so that nothing is called after remove() has returned.
  void wake(const Scope& scope) {
    std::lock_guard lock(mutex_);
    if (const auto found = watches_.find(scope); found != watches_.end()) found->second();
  }
  // The connection was away: any of them may have been missed.
  void wake_all() {
    std::lock_guard lock(mutex_);
    for (const auto& [scope, changed] : watches_) changed();
  }

 private:
  std::mutex mutex_;
  std::map<Scope, std::function<void()>> watches_;  // guarded by mutex_
};

}  // namespace onceward::postgres
