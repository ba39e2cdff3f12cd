// The token by which a service finishes an operation inside a transaction of its own (header Onceward-Token):
// "<operation id>.<epoch>.<proof>". The proof is a digest of the claim's owner nonce, so that it cannot be
// guessed, is of no use once another claim stands (I3), and does not give the nonce away. Pure.
#pragma once

#include <string>

#include "onceward/values.hpp"

namespace onceward {

std::string transaction_token(const OperationId& operation_id, Epoch epoch, const OwnerNonce& owner);

}  // namespace onceward
