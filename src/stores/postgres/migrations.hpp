// The schema's SQL, one constant per part of a migration. Only schema.cpp runs it.
#pragma once

namespace onceward::postgres {

extern const char* const migration_1_tables;
extern const char* const migration_1_verbs;
extern const char* const migration_1_chores;

extern const char* const migration_2_tables;
extern const char* const migration_2_marks;
extern const char* const migration_2_outbox;
extern const char* const migration_2_claim;
extern const char* const migration_2_verbs;
extern const char* const migration_2_chores;

extern const char* const migration_3_transactions;

extern const char* const migration_4_marks;

}  // namespace onceward::postgres
