#include "proxy/quotas.hpp"

#include <gtest/gtest.h>

#include "support/fakes.hpp"

namespace onceward {
namespace {

using namespace std::chrono_literals;

class QuotasTest : public ::testing::Test {
 protected:
  std::unique_ptr<Admission> of(const std::string& owner) { return quotas.admission(owner, limits, 24h); }
  // A new key of its own, used and done.
  bool use_key(const std::string& owner) {
    const auto admission = of(owner);
    if (admission->enter()) return false;
    admission->granted(true);
    return true;
  }
  int keys_until_refused(const std::string& owner, int most = 1000) {
    int count = 0;
    while (count < most && use_key(owner)) ++count;
    return count;
  }

  testing::FakeClock clock;
  Quotas quotas{clock};
  QuotaLimits limits;
};

TEST_F(QuotasTest, a_burst_then_so_many_per_second) {
  limits.new_keys_per_second = 2;
  limits.burst = 5;
  EXPECT_EQ(keys_until_refused("a"), 5);
  EXPECT_EQ(of("a")->enter(), 500ms);
  clock.advance(499ms);
  EXPECT_EQ(keys_until_refused("a"), 0);
  clock.advance(1ms);
  EXPECT_EQ(keys_until_refused("a"), 1);
  clock.advance(1h);
  EXPECT_EQ(keys_until_refused("a"), 5) << "no more than the burst is saved up";
}

TEST_F(QuotasTest, without_a_burst_it_is_a_seconds_worth) {
  limits.new_keys_per_second = 3;
  EXPECT_EQ(keys_until_refused("a"), 3);
}

TEST_F(QuotasTest, one_callers_keys_are_not_anothers) {
  limits.new_keys_per_second = 1;
  EXPECT_EQ(keys_until_refused("a"), 1);
  EXPECT_EQ(keys_until_refused("b"), 1);
}

TEST_F(QuotasTest, what_was_not_granted_is_not_charged) {
  limits.new_keys_per_second = 1;
  limits.live_keys = 1;
  for (int i = 0; i < 10; ++i) {
    const auto duplicate = of("a");
    ASSERT_FALSE(duplicate->enter()) << i;
    duplicate->leave();
  }
  for (int i = 0; i < 10; ++i) {
    const auto next_epoch = of("a");
    ASSERT_FALSE(next_epoch->enter()) << i;
    next_epoch->granted(false);
  }
  EXPECT_EQ(keys_until_refused("a"), 1);
}

TEST_F(QuotasTest, a_key_lives_as_long_as_its_record) {
  limits.live_keys = 3;
  EXPECT_EQ(keys_until_refused("a"), 3);
  const auto wait = of("a")->enter();
  ASSERT_TRUE(wait);
  EXPECT_GE(*wait, 24h);
  EXPECT_LE(*wait, 25h);
  clock.advance(*wait - 1ms);
  EXPECT_EQ(keys_until_refused("a"), 0);
  clock.advance(1ms);
  EXPECT_EQ(keys_until_refused("a"), 3);
}

TEST_F(QuotasTest, executions_count_until_they_end) {
  limits.in_flight = 2;
  const auto first = of("a");
  const auto second = of("a");
  const auto third = of("a");
  EXPECT_FALSE(first->enter());
  first->granted(true);
  EXPECT_FALSE(second->enter());
  EXPECT_EQ(third->enter(), 1s);
  EXPECT_EQ(third->enter_again(), 1s);
  EXPECT_FALSE(of("b")->enter());
  first->leave();
  EXPECT_FALSE(third->enter_again());
}

TEST_F(QuotasTest, an_admission_that_goes_gives_back_what_it_took) {
  limits.in_flight = 1;
  limits.new_keys_per_second = 1;
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(of("a")->enter());
}

TEST_F(QuotasTest, memory_is_bounded_and_idle_accounts_go_first) {
  limits.new_keys_per_second = 1;
  limits.burst = 2;
  const auto busy = of("busy");
  ASSERT_FALSE(busy->enter());
  for (std::size_t i = 0; i < 2 * Quotas::accounts_max; ++i) {
    use_key("caller " + std::to_string(i));
    if (i % 1000 == 0) clock.advance(1s);
  }
  EXPECT_LE(quotas.accounts(), Quotas::accounts_max);
  busy->leave();  // harmless, although its account is long forgotten
}

}  // namespace
}  // namespace onceward
