#include "stores/postgres/schema.hpp"

#include <charconv>

#include "stores/postgres/migrations.hpp"

namespace onceward::postgres {
namespace {

// One number for every program that migrates this schema; the bytes of "onceward".
constexpr const char* take_migration_lock = "BEGIN; SELECT pg_advisory_xact_lock(8029747061391876708)";
constexpr const char* make_schema =
    "DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = 'onceward') THEN "
    "CREATE SCHEMA onceward; END IF; END $$;"
    "CREATE TABLE onceward.schema_versions ("
    "  version integer PRIMARY KEY,"
    "  works_with integer NOT NULL,"  // the oldest program (by its own schema's version) that can still use
                                      // it
    "  installed_at timestamptz NOT NULL DEFAULT now())";

struct Version {
  int version = 0;
  int works_with = 0;
};

int to_number(const std::string& text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Result<Version> installed_version(Session& session, MonoTime deadline) {
  // Read from the catalog itself: a session that waited for another's migration may still remember that the
  // name stood for nothing.
  const Result<std::string> exists = session.value(
      "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
      "WHERE n.nspname = 'onceward' AND c.relname = 'schema_versions'",
      deadline);
  if (!exists) return exists.error();
  if (exists->empty()) return Version{};
  const Result<ResultPtr> rows = session.run(
      "SELECT version, works_with FROM onceward.schema_versions ORDER BY version DESC LIMIT 1", deadline);
  if (!rows) return rows.error();
  if (PQntuples(rows->get()) == 0) return Version{};
  return Version{to_number(PQgetvalue(rows->get(), 0, 0)), to_number(PQgetvalue(rows->get(), 0, 1))};
}

Result<Done> check_usable(const Version& found) {
  if (found.works_with <= schema_version) return Done{};
  return Error{Errc::refused, "the schema is of version " + std::to_string(found.version) +
                                  ", which is too new for this program (it knows version " +
                                  std::to_string(schema_version) + ")"};
}

Result<Done> run_all(Session& session, std::initializer_list<const char*> statements, MonoTime deadline) {
  for (const char* sql : statements)
    if (const Result<ResultPtr> done = session.run(sql, deadline); !done) return done.error();
  return Done{};
}

Result<SchemaChange> migrate(Session& session, MonoTime deadline) {
  if (const Result<ResultPtr> locked = session.run(take_migration_lock, deadline); !locked)
    return locked.error();
  // Another program may have done it while this one waited.
  const Result<Version> found = installed_version(session, deadline);
  if (!found) return found.error();
  if (const Result<Done> usable = check_usable(*found); !usable) return usable.error();
  Result<Done> done = Done{};
  if (found->version < 1) {
    done = run_all(session,
                   {make_schema, migration_1_tables, migration_1_verbs, migration_1_chores,
                    "INSERT INTO onceward.schema_versions (version, works_with) VALUES (1, 1)"},
                   deadline);
  }
  // Adds only, and keeps the functions of version 1 working: a program that knows no more can still use it.
  if (done && found->version < 2) {
    done = run_all(
        session,
        {migration_2_tables, migration_2_marks, migration_2_outbox, migration_2_claim, migration_2_verbs,
         migration_2_chores, "INSERT INTO onceward.schema_versions (version, works_with) VALUES (2, 1)"},
        deadline);
  }
  // Adds only, too.
  if (done && found->version < 3) {
    done = run_all(session,
                   {migration_3_transactions,
                    "INSERT INTO onceward.schema_versions (version, works_with) VALUES (3, 1)"},
                   deadline);
  }
  if (done && found->version < 4) {
    done = run_all(
        session,
        {migration_4_marks, "INSERT INTO onceward.schema_versions (version, works_with) VALUES (4, 1)"},
        deadline);
  }
  if (done) done = run_all(session, {"COMMIT"}, deadline);
  if (!done) return done.error();
  return SchemaChange{found->version, schema_version};
}

}  // namespace

Result<SchemaChange> ensure_schema(Session& session, bool may_migrate, MonoTime look_until,
                                   MonoTime migrate_until) {
  const Result<Version> found = installed_version(session, look_until);
  if (!found) return found.error();
  if (const Result<Done> usable = check_usable(*found); !usable) return usable.error();
  if (found->version >= schema_version) return SchemaChange{found->version, found->version};
  if (may_migrate) {
    Result<SchemaChange> changed = migrate(session, migrate_until);
    if (!changed) {
      return Error{changed.error().code,
                   "the schema could not be brought up to date: " + changed.error().message +
                       "; run `onceward store migrate URL` as a role that may"};
    }
    return changed;
  }
  return Error{Errc::refused, found->version == 0
                                  ? "the schema is missing: run `onceward store migrate URL`"
                                  : "the schema is too old: run `onceward store migrate URL`"};
}

}  // namespace onceward::postgres
