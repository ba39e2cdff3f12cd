#include "factory/open_ledger.hpp"

#include "stores/postgres/postgres_ledger.hpp"
#include "stores/sqlite/sqlite_ledger.hpp"

namespace onceward {

std::unique_ptr<Ledger> open_ledger(::pg_conn* connection) {
  return postgres::make_postgres_ledger(connection);
}

std::unique_ptr<Ledger> open_ledger(api::SqlConnection& connection, const Clock& clock) {
  return sqlite::make_sqlite_ledger(connection, clock);
}

Result<std::size_t> drain_outbox(api::SqlConnection& connection, std::size_t limit,
                                 const std::function<bool(const Event&)>& deliver) {
  return sqlite::drain_outbox(connection, limit, deliver);
}

Result<std::size_t> purge_records(api::SqlConnection& connection, std::size_t limit, const Clock& clock) {
  return sqlite::purge_records(connection, limit, clock.now());
}

}  // namespace onceward
