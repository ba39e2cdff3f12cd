// The token of a claim: its fence as one opaque text. It proves nothing by itself; the store compares it
// with the claim that stands (I3), and the owner nonce in it cannot be guessed. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "onceward/values.hpp"

namespace onceward {

std::string claim_token(const Fence& fence);

// Nothing for what is no token of this operation.
std::optional<Fence> fence_from_token(std::string_view token, const OperationId& operation_id);

}  // namespace onceward
