// The schema's SQL, one constant per part of a migration. Only schema.cpp runs it.
#pragma once

namespace onceward::postgres {

extern const char* const migration_1_tables;
extern const char* const migration_1_verbs;
extern const char* const migration_1_chores;

}  // namespace onceward::postgres
