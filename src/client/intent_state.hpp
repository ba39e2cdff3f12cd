// IntentState: an open intent from the inside: its record, and how the store that gave it out keeps it. Owned
// by its Intent; destroying it lets others open the intent.
#pragma once

#include <memory>

#include "client/intent_record.hpp"
#include "onceward/client.hpp"

namespace onceward::client::detail {

struct IntentState {
  virtual ~IntentState() = default;
  virtual Result<Done> save() = 0;    // when it returns, a restart finds this record
  virtual Result<Done> remove() = 0;  // and after this one, none

  static IntentState& of(Intent& intent) { return *intent.state_; }
  static Intent wrap(std::unique_ptr<IntentState> state) { return Intent(std::move(state)); }

  IntentRecord record;
};

}  // namespace onceward::client::detail
