// What the answer to a probe means, by its status. Pure; any thread.
#pragma once

#include <memory>
#include <string>

#include "core/policy.hpp"
#include "engine/prober.hpp"

namespace onceward {

// An answer that came whole.
struct ProbeReply {
  int status = 0;
  std::string lines;  // as they would be stored
  std::string body;
  bool body_omitted = false;  // larger than what is kept
  std::shared_ptr<const OperationResult> result = {};
};
ProbeAnswer read_probe_reply(ProbeReply reply, const ProbePolicy& policy);

}  // namespace onceward
