// The schema's version: checked on every connection, and brought up to date when that is allowed. Runs on a
// thread that may wait.
#pragma once

#include "onceward/result.hpp"
#include "stores/postgres/session.hpp"

namespace onceward::postgres {

constexpr int schema_version = 4;

struct SchemaChange {
  int before = 0;  // 0: there was none
  int after = 0;
};

// Errc::refused: the schema is missing, too old (and `may_migrate` is false) or too new for this program.
// A look takes no longer than any other question (`look_until`); a migration may take its time.
Result<SchemaChange> ensure_schema(Session& session, bool may_migrate, MonoTime look_until,
                                   MonoTime migrate_until);

}  // namespace onceward::postgres
