// The claim that a command asks its store for, with a new owner. Pure but for time and chance.
#pragma once

#include "engine/engine.hpp"

namespace onceward {

ClaimRequest claim_request(const Command& command, State start, Timestamp now, Random& random);

// Another request may take a key for which nothing was sent. Under `forward` an earlier epoch may have sent
// something although its doubt is gone: its answer was lost, and an operator has since resolved the record as
// released. The upstream, which is trusted to know an operation again, still has that epoch's answer and
// would give it to whatever request came next under the same operation (I8), so the key stays with its
// request.
inline bool may_unbind(const ClaimRequest& request, Epoch epoch) {
  return epoch == 1 || !request.take_unknown;
}

}  // namespace onceward
