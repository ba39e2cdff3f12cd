// The ledger in an SQLite database: records in their stored form (core/record_codec.hpp), decided by the pure
// `transition`, in tables that are made when they are missing. One writer at a time is SQLite's own rule, so
// that two commands of one key cannot run at once. It knows no sqlite3.h: the caller's connection runs the
// statements.
#pragma once

#include <functional>
#include <memory>

#include "core/ledger.hpp"
#include "onceward/transaction.hpp"

namespace onceward::sqlite {

// Both must outlive it.
std::unique_ptr<Ledger> make_sqlite_ledger(api::SqlConnection& connection, const Clock& clock);

Result<std::size_t> drain_outbox(api::SqlConnection& connection, std::size_t limit,
                                 const std::function<bool(const Event&)>& deliver);
Result<std::size_t> purge_records(api::SqlConnection& connection, std::size_t limit, Timestamp now);

}  // namespace onceward::sqlite
