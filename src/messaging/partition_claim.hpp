// PartitionClaim: the right to send one partition's events: a claim of a reserved operation, so that any
// store can decide who has it, kept while there is work. On the relay's executor only.
#pragma once

#include <optional>
#include <string_view>

#include "base/task.hpp"
#include "engine/lease_keeper.hpp"
#include "onceward/outbox_store.hpp"

namespace onceward::messaging {

inline constexpr std::string_view relay_operation = "onceward.relay";

// Of a partition's claim, the same on every machine.
Scope relay_scope(std::uint16_t partition);

class PartitionClaim {
 public:
  PartitionClaim(Executor& executor, const Clock& clock, Random& random, Store& store,
                 std::uint16_t partition, Duration lease)
      : executor_(executor),
        clock_(clock),
        random_(random),
        store_(store),
        partition_(partition),
        lease_(lease) {}

  // False: somebody else has it, or the store cannot say.
  Task<bool> take();
  // Whether it is ours for certain, by the monotonic clock.
  bool is_held() const { return keeper_ && !lost_ && keeper_->is_held(); }
  MonoTime held_until() const { return keeper_->lease_until(); }
  const Fence& fence() const { return fence_; }
  // The next relay need not wait for the lease to end. Harmless when it is not ours.
  Task<> give_up();
  // The store says that it is somebody else's.
  Task<> forget();

 private:
  Executor& executor_;
  const Clock& clock_;
  Random& random_;
  Store& store_;
  const std::uint16_t partition_;
  const Duration lease_;
  std::optional<LeaseKeeper> keeper_;
  Fence fence_;
  bool lost_ = false;
};

}  // namespace onceward::messaging
