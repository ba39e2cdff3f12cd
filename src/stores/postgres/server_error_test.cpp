#include "stores/postgres/server_error.hpp"

#include <gtest/gtest.h>

namespace onceward::postgres {
namespace {

TEST(PostgresServerError, only_a_rolled_back_transaction_is_known_to_have_written_nothing) {  // I10
  struct Case {
    ServerError error;
    Errc code;
  };
  for (const Case& c :
       {Case{{"40001", "could not serialize access", "ERROR"}, Errc::refused},
        Case{{"25006", "cannot execute INSERT in a read-only transaction", "ERROR"}, Errc::refused},
        Case{{"42883", "function onceward.claim does not exist", "ERROR"}, Errc::refused},
        Case{{"53100", "could not extend file: No space left on device", "ERROR"}, Errc::refused},
        Case{{"57014", "canceling statement due to statement timeout", "ERROR"}, Errc::refused},
        Case{{"57P01", "terminating connection due to administrator command", "FATAL"}, Errc::unavailable},
        Case{{"08P01", "server conn crashed?", "ERROR"}, Errc::unavailable},
        Case{{"XX000", "could not fsync", "PANIC"}, Errc::unavailable},
        Case{{"", "server closed the connection unexpectedly\n\tThis probably means", ""},
             Errc::unavailable}}) {
    EXPECT_EQ(error_of(c.error).code, c.code) << c.error.message;
  }
}

TEST(PostgresServerError, messages_are_one_line_and_carry_the_code) {
  EXPECT_EQ(error_of({"40001", "first\nDETAIL: second", "ERROR"}).message, "postgres: first (40001)");
  EXPECT_EQ(error_of({"", "gone\n", ""}).message, "postgres: gone");
}

TEST(PostgresServerError, a_commit_that_no_standby_confirmed_is_told_by_a_warning) {
  EXPECT_TRUE(is_unreplicated_commit({"01000", "canceling wait for synchronous replication", "WARNING"}));
  EXPECT_FALSE(is_unreplicated_commit({"00000", "relation exists, skipping", "NOTICE"}));
}

TEST(PostgresServerError, a_demoted_or_ending_server_is_left) {
  EXPECT_TRUE(wants_another_server("25006"));
  EXPECT_TRUE(wants_another_server("57P01"));
  EXPECT_FALSE(wants_another_server("57014"));
  EXPECT_FALSE(wants_another_server("23505"));
}

}  // namespace
}  // namespace onceward::postgres
