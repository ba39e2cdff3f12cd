// The pages that Onceward publishes on the proxy's own port under /.well-known/onceward/, answered here
// and never forwarded: the policy, the state of an operation, the meaning of a problem code.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/task.hpp"
#include "http/exchange.hpp"
#include "onceward/store.hpp"
#include "proxy/bulk_board.hpp"
#include "proxy/rules.hpp"

namespace onceward {

inline constexpr std::string_view well_known_prefix = "/.well-known/onceward/";

// Where a client finds out what became of an operation.
std::string operation_location(const OperationId& id);

class WellKnown {
 public:
  WellKnown(Store& store, const BulkBoard& board) : store_(store), board_(board) {}
  // For paths that begin with the prefix.
  Task<> handle(http::Exchange& exchange, const Rules& rules);

 private:
  Task<> operation(http::Exchange& exchange, const Rules& rules, std::string_view id_text);

  Store& store_;
  const BulkBoard& board_;
};

std::string policy_json(const Rules& rules);
// How far it has come, when it is a bulk request that this process is working on.
std::string operation_json(const Record& record, const std::optional<BulkProgress>& progress = {});

}  // namespace onceward
