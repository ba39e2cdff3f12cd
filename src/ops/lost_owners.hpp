// LostOwners: tells which records became unknown because their owner died. Nobody is there to count those
// when it happens; whoever looks through the records notices them here, each once. One thread.
#pragma once

#include <set>
#include <utility>

#include "onceward/values.hpp"

namespace onceward {

class LostOwners {
 public:
  static constexpr std::size_t remembered_max = 100'000;

  explicit LostOwners(Timestamp process_began) : process_began_(process_began) {}

  // Whether this record's owner was lost and that was not said before. What was lost long before this
  // process began was counted by another: a restart must not look like a wave of losses.
  bool is_new(const Record& record);
  // After all records were looked at: forgets what is not unknown any more.
  void pass_ended();

 private:
  using Claim = std::pair<OperationId, Epoch>;
  const Timestamp process_began_;
  std::set<Claim> known_;
  std::set<Claim> seen_;  // in this pass
};

}  // namespace onceward
