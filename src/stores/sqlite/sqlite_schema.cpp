#include "stores/sqlite/sqlite_schema.hpp"

namespace onceward::sqlite {
namespace {

constexpr std::int64_t known_version = 1;

// `record` is the whole truth; the other columns are for people, purging and order.
constexpr const char* tables[] = {
    "CREATE TABLE IF NOT EXISTS onceward_schema (version INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS onceward_records (scope BLOB NOT NULL PRIMARY KEY, operation_id TEXT NOT "
    "NULL, "
    "operation TEXT NOT NULL, state TEXT NOT NULL, gone_at INTEGER, record BLOB NOT NULL)",
    "CREATE INDEX IF NOT EXISTS onceward_records_gone ON onceward_records (gone_at) WHERE gone_at IS NOT "
    "NULL",
    "CREATE TABLE IF NOT EXISTS onceward_marks (mark BLOB NOT NULL PRIMARY KEY, scope BLOB NOT NULL, "
    "operation_id TEXT NOT NULL, until INTEGER)",
    "CREATE INDEX IF NOT EXISTS onceward_marks_ending ON onceward_marks (until)",
    "CREATE TABLE IF NOT EXISTS onceward_outbox (sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT "
    "NULL "
    "UNIQUE, type TEXT NOT NULL, content_type TEXT NOT NULL, payload BLOB NOT NULL, created_at INTEGER NOT "
    "NULL)",
};

}  // namespace

Result<Done> ensure_tables(api::SqlConnection& connection) {
  const auto version =
      connection.run("SELECT count(*) FROM sqlite_master WHERE name = 'onceward_schema'", {});
  if (!version) return version.error();
  if (std::get<std::int64_t>(version->rows.at(0).at(0)) == 0) {
    for (const char* sql : tables)
      if (const auto made = connection.run(sql, {}); !made) return made.error();
    const auto noted = connection.run("INSERT INTO onceward_schema (version) VALUES (?1)", {known_version});
    if (!noted) return noted.error();
    return Done{};
  }
  const auto found = connection.run("SELECT max(version) FROM onceward_schema", {});
  if (!found) return found.error();
  const auto* number = std::get_if<std::int64_t>(&found->rows.at(0).at(0));
  if (!number || *number > known_version)
    return Error{Errc::unreadable, "the tables onceward_* are of a newer version"};
  return Done{};
}

}  // namespace onceward::sqlite
