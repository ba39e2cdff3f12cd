// One command inside one transaction: enter, claim, work, complete, leave. Whatever fails undoes everything.
// Pure but for the ledger and the work.
#pragma once

#include "core/ledger.hpp"
#include "engine/engine.hpp"
#include "onceward/transaction.hpp"

namespace onceward::api {

Outcome run_in_transaction(Ledger& ledger, const onceward::Command& command, const ClaimRequest& claim,
                           std::size_t max_response, const Clock& clock,
                           const TransactionalCommands::Work& work);

}  // namespace onceward::api
