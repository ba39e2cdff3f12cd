// Opens the ledger of the database that a caller's connection belongs to (core/ledger.hpp). The connection
// stays the caller's and must outlive it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "core/ledger.hpp"
#include "onceward/transaction.hpp"

namespace onceward {

std::unique_ptr<Ledger> open_ledger(::pg_conn* connection);
std::unique_ptr<Ledger> open_ledger(api::SqlConnection& connection, const Clock& clock);

Result<std::size_t> drain_outbox(api::SqlConnection& connection, std::size_t limit,
                                 const std::function<bool(const Event&)>& deliver);
Result<std::size_t> purge_records(api::SqlConnection& connection, std::size_t limit, const Clock& clock);

}  // namespace onceward
