// The ledger in the caller's PostgreSQL database: the store's own functions (schema `onceward`), called on
// the caller's connection inside the caller's transaction. Unique keys make a second transaction of one key
// wait for the first. Blocks; the connection must be in its ordinary mode, with nothing under way.
#pragma once

#include <libpq-fe.h>

#include <memory>

#include "core/ledger.hpp"

namespace onceward::postgres {

std::unique_ptr<Ledger> make_postgres_ledger(PGconn* connection);

}  // namespace onceward::postgres
