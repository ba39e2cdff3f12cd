// RecordCounts: how many records there are, by operation and state. A store that can count them without
// handing them out offers it beside its verbs; others are counted by listing them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "onceward/store.hpp"

namespace onceward {

struct StateCount {
  std::string operation;
  State state = State::processing;  // as it is now
  std::uint64_t count = 0;
};

class RecordCounts {
 public:
  virtual ~RecordCounts() = default;
  // Open records exactly; final ones may be estimated where counting them would read them all.
  virtual bool count_records(Reply<std::vector<StateCount>>& reply) = 0;
};

}  // namespace onceward
