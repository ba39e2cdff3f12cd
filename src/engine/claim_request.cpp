#include "engine/claim_request.hpp"

#include <algorithm>
#include <array>

#include "core/scope.hpp"

namespace onceward {

ClaimRequest claim_request(const Command& command, State start, Timestamp now, Random& random) {
  const Policy& policy = *command.policy;
  std::array<std::uint8_t, 18> chance;
  random.fill(chance);
  ClaimRequest request;
  request.scope = command.scope;
  std::copy_n(chance.begin(), request.owner.data.size(), request.owner.data.begin());
  request.operation_id =
      make_operation_id(command.scope, now, static_cast<std::uint16_t>(chance[16] | chance[17] << 8));
  request.start = start;
  request.fingerprint = command.fingerprint;
  request.request = command.request;
  request.lease = policy.lease;
  request.max_hold = policy.max_hold;
  request.ttl = policy.ttl;
  request.receipt_ttl = policy.receipt_ttl;
  request.take_unknown = policy.on_unknown == OnUnknown::forward;
  return request;
}

}  // namespace onceward
