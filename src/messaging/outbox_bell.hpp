// OutboxBell: how whoever wrote events wakes the relay of its process. Any thread may ring; a crowd of rings
// costs the relay one wake-up.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "onceward/executor.hpp"

namespace onceward::messaging {

class OutboxBell : Completion {
 public:
  // `heard` is called on the executor with the partitions that were rung for, one bit each.
  OutboxBell(Executor& executor, std::function<void(std::uint32_t partitions)> heard)
      : executor_(executor), heard_(std::move(heard)) {
    run = [](Completion* self) {
      OutboxBell& bell = *static_cast<OutboxBell*>(self);
      bell.heard_(bell.rung_.exchange(0));
    };
  }
  OutboxBell(const OutboxBell&) = delete;
  OutboxBell& operator=(const OutboxBell&) = delete;

  void ring(std::uint16_t partition) {
    if (rung_.fetch_or(std::uint32_t{1} << partition) == 0) executor_.post(this);
  }
  bool is_quiet() const { return rung_.load() == 0; }

 private:
  Executor& executor_;
  const std::function<void(std::uint32_t)> heard_;
  std::atomic<std::uint32_t> rung_{0};
};

}  // namespace onceward::messaging
