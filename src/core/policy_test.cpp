#include "core/policy.hpp"

#include <gtest/gtest.h>

#include <set>

namespace onceward {
namespace {

using namespace std::chrono_literals;

TEST(Policy, the_default_outcomes_are_those_of_the_contract) {
  const OutcomeTable table;
  const std::set<int> retry = {401, 403, 407, 408, 413, 421, 425, 426, 429, 431, 503};
  const std::set<int> unknown = {502, 504};
  for (int status = 100; status < 600; ++status) {
    const OutcomeClass expected = retry.contains(status)     ? OutcomeClass::retry
                                  : unknown.contains(status) ? OutcomeClass::unknown
                                                             : OutcomeClass::replay;
    EXPECT_EQ(table.of(status), expected) << status;
  }
}

TEST(Policy, a_status_that_http_does_not_define_is_no_statement_about_the_effect) {
  for (int status : {-1, 0, 99, 600, 999}) EXPECT_EQ(OutcomeTable().of(status), OutcomeClass::unknown);
}

TEST(Policy, a_class_sets_its_hundred_and_a_code_after_it_overrules_it) {
  OutcomeTable table;
  table.set_class(5, OutcomeClass::unknown);
  table.set(500, OutcomeClass::retry);
  EXPECT_EQ(table.of(500), OutcomeClass::retry);
  EXPECT_EQ(table.of(503), OutcomeClass::unknown);
  EXPECT_EQ(table.of(599), OutcomeClass::unknown);
  EXPECT_EQ(table.of(499), OutcomeClass::replay);
  EXPECT_FALSE(table == OutcomeTable());
}

TEST(Policy, a_duplicate_waits_as_the_policy_says_or_as_the_client_prefers_within_the_limit) {
  InProgressPolicy policy;
  policy.wait = 1s;
  policy.max_wait = 30s;
  EXPECT_EQ(wait_limit(policy, std::nullopt), 1s);
  EXPECT_EQ(wait_limit(policy, 0s), 0s);
  EXPECT_EQ(wait_limit(policy, 10s), 10s);
  EXPECT_EQ(wait_limit(policy, 31s), 30s);
  policy.wait = 60s;
  EXPECT_EQ(wait_limit(policy, std::nullopt), 30s);
}

}  // namespace
}  // namespace onceward
