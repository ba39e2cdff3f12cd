// The tables of the SQLite ledger. Any thread; no state of its own.
#pragma once

#include "onceward/transaction.hpp"

namespace onceward::sqlite {

// Makes what is missing. Errc::unreadable: the tables are those of a newer version.
Result<Done> ensure_tables(api::SqlConnection& connection);

}  // namespace onceward::sqlite
