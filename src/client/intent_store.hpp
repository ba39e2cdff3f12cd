// KeptIntents: what all stores of intents do alike; a store adds only where the bytes are.
#pragma once

#include "client/intent_state.hpp"

namespace onceward::client {

class KeptIntents : public IntentStore {
 public:
  using IntentStore::open;
  Result<Intent> open(std::string_view name, const NewKey& key_if_new) final;
  Result<Intent> begin_anew(std::string_view name, const NewKey& key, bool although_in_doubt) final;
  Result<Done> forget(Intent intent) final;

 protected:
  // Takes the intent for this caller alone; its record has an empty key when there was none.
  virtual Result<std::unique_ptr<detail::IntentState>> take(const std::string& name) = 0;
};

Error busy(std::string_view name);

}  // namespace onceward::client
