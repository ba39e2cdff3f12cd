// The pages that Onceward publishes on the proxy's own port under /.well-known/onceward/, answered here
// and never forwarded: the policy, the state of an operation, the meaning of a problem code.
#pragma once

#include <string>
#include <string_view>

#include "base/task.hpp"
#include "http/exchange.hpp"
#include "onceward/store.hpp"
#include "proxy/rules.hpp"

namespace onceward {

inline constexpr std::string_view well_known_prefix = "/.well-known/onceward/";

// Where a client finds out what became of an operation.
std::string operation_location(const OperationId& id);

class WellKnown {
 public:
  explicit WellKnown(Store& store) : store_(store) {}
  // For paths that begin with the prefix.
  Task<> handle(http::Exchange& exchange, const Rules& rules);

 private:
  Task<> operation(http::Exchange& exchange, const Rules& rules, std::string_view id_text);

  Store& store_;
};

std::string policy_json(const Rules& rules);
std::string operation_json(const Record& record);

}  // namespace onceward
