// What a probe asks for: a target with {…} in it, filled in partly from the request, when its key is
// claimed, and partly from the record, when it is asked about. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "core/policy.hpp"
#include "onceward/result.hpp"
#include "onceward/values.hpp"

namespace onceward {

// The kinds of {…} in a target: {operation_id}, {tenant}, {key}, {/json/pointer}. Empty, or what is wrong.
std::string check_probe_target(std::string_view target);

// The same for the target of one item of a bulk request, where only the item itself can fill in:
// {/json/pointer}.
std::string check_item_target(std::string_view target);

// Whether the target needs what a record does not keep (the key, the body), so that it has to be filled in
// when the key is claimed.
bool needs_request(std::string_view target);

struct ProbeInputs {
  std::string_view tenant;
  std::string_view key;
  std::string_view body;
};
// Everything filled in but {operation_id}, percent-encoded. Errc::invalid when a value is missing, empty, or
// one that would change which path is meant (`.` and `..`).
Result<std::string> fill_in_request(std::string_view target, const ProbeInputs& inputs);

// The target for a record, as it goes on the wire. Errc::invalid when it was never filled in.
Result<std::string> probe_target(const Record& record, const ProbePolicy& policy);

}  // namespace onceward
