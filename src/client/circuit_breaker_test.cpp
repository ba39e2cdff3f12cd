#include "client/circuit_breaker.hpp"

#include <gtest/gtest.h>

#include "client/retry_budget.hpp"

namespace onceward::client {
namespace {

using namespace std::chrono_literals;

constexpr MonoTime start{1h};

TEST(CircuitBreaker, OpensAfterFailuresInARowOnly) {
  CircuitBreaker breaker(3, 5s);
  breaker.failed(start);
  breaker.failed(start);
  breaker.succeeded();
  breaker.failed(start);
  breaker.failed(start);
  EXPECT_FALSE(breaker.blocked(start));
  breaker.failed(start);
  EXPECT_EQ(breaker.blocked(start), 5s);
  EXPECT_EQ(breaker.blocked(start + 2s), 3s);
}

TEST(CircuitBreaker, LetsOneRequestTryAfterThePause) {
  CircuitBreaker breaker(1, 5s);
  breaker.failed(start);
  EXPECT_FALSE(breaker.blocked(start + 5s));
  EXPECT_EQ(breaker.blocked(start + 5s), 5s) << "a second one must not try beside it";
  breaker.succeeded();
  EXPECT_FALSE(breaker.blocked(start + 5s));
  EXPECT_FALSE(breaker.blocked(start + 5s));
}

TEST(CircuitBreaker, OpensAgainWhenTheTrialFails) {
  CircuitBreaker breaker(2, 5s);
  breaker.failed(start);
  breaker.failed(start);
  EXPECT_FALSE(breaker.blocked(start + 6s));
  breaker.failed(start + 6s);
  EXPECT_EQ(breaker.blocked(start + 6s), 5s);
}

TEST(CircuitBreaker, ATrialThatWasCancelledLeavesTheNextOneToTry) {
  CircuitBreaker breaker(1, 5s);
  breaker.failed(start);
  EXPECT_FALSE(breaker.blocked(start + 5s));
  breaker.abandoned();
  EXPECT_FALSE(breaker.blocked(start + 5s));
}

TEST(RetryBudget, EndsWhenRetriesOutnumberRequests) {
  RetryBudget budget(0.25, 2);
  EXPECT_TRUE(budget.take());
  EXPECT_TRUE(budget.take());
  EXPECT_FALSE(budget.take());
  for (int i = 0; i < 3; ++i) budget.first_attempt();
  EXPECT_FALSE(budget.take());
  budget.first_attempt();
  EXPECT_TRUE(budget.take());
  EXPECT_FALSE(budget.take());
}

}  // namespace
}  // namespace onceward::client
