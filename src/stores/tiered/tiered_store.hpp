// The tiered store: an authority that alone decides, and a cache in front of it that answers replays. A
// final record does not change before its ttl is over, so a copy of it that dies earlier can be trusted
// without asking. Callable from any thread, as both parts are.
#pragma once

#include <memory>

#include "core/outcome_cache.hpp"
#include "onceward/store.hpp"

namespace onceward {

struct TieredOptions {
  // How long a copy may live. It bounds what an operator's purge, or a jump of the authority's clock, can
  // leave behind; a copy that dies early is made anew by the next replay.
  Duration longest_life = std::chrono::minutes(10);
  // Taken off every life: the time that a copy may spend on its way.
  Duration margin = std::chrono::seconds(5);
};

std::unique_ptr<Store> make_tiered_store(std::unique_ptr<Store> authority,
                                         std::unique_ptr<OutcomeCache> cache, const Clock& clock,
                                         TieredOptions options = {});

}  // namespace onceward
