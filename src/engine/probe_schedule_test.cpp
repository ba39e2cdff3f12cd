#include "engine/probe_schedule.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;
using Verdict = ProbeSchedule::Verdict;

ProbePolicy asked_every(Duration every, Duration give_up = 24h) {
  ProbePolicy policy;
  policy.every = every;
  policy.give_up = give_up;
  return policy;
}

TEST(ProbePause, doubles_up_to_a_limit_and_strays_by_a_tenth) {
  struct Case {
    Duration every;
    std::uint32_t asked;
    std::uint16_t chance;
    Duration pause;
  };
  constexpr std::uint16_t lowest = 0, highest = 65535;
  const Case cases[] = {
      {5s, 0, lowest, 4500ms},
      {5s, 0, highest, 5500ms},
      {5s, 1, lowest, 9s},
      {5s, 1, highest, 11s},
      {5s, 4, lowest, 72s},
      {5s, 5, lowest, 144s},
      {5s, 6, lowest, 144s},  // no further
      {5s, 4'000'000'000, highest, 176s},
      {1min, 5, lowest, 9min},  // ten minutes at most …
      {1h, 0, lowest, 54min},   // … unless `every` itself is longer
      {1h, 9, highest, 66min},
      {100ms, 0, lowest, 90ms},
      {1ms, 0, highest, 1ms},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(probe_pause(asked_every(c.every), c.asked, c.chance), c.pause)
        << c.every.count() << " ms, asked " << c.asked;
  }
}

TEST(ProbeRate, allows_so_many_questions_in_any_second) {
  ProbeRate rate(2);
  const MonoTime start{1h};
  EXPECT_TRUE(rate.take(start));
  EXPECT_TRUE(rate.take(start + 500ms));
  EXPECT_FALSE(rate.take(start + 999ms));
  EXPECT_TRUE(rate.take(start + 1s));
}

class Schedule : public ::testing::Test {
 protected:
  Record unknown(std::uint8_t name, Epoch epoch = 1) {
    Record record;
    record.scope.data[0] = name;
    record.epoch = epoch;
    record.state = State::unknown;
    record.updated_at = began;
    return record;
  }
  ProbeSchedule::Now after(Duration time) const { return {began + time, MonoTime{1h} + time}; }
  Verdict begin(const Record& record, Duration time, const ProbePolicy& policy = asked_every(5s)) {
    return schedule.begin(record, policy, after(time));
  }
  void not_settled(const Record& record, Duration time) {
    schedule.not_settled(record.scope, asked_every(5s), after(time).mono, 0);
  }

  const Timestamp began{std::chrono::days{20'000}};
  ProbeSchedule schedule{100};
};

TEST_F(Schedule, a_record_is_asked_about_once_it_has_been_unknown_for_every) {
  EXPECT_EQ(begin(unknown(1), 0s), Verdict::not_yet);
  EXPECT_EQ(begin(unknown(1), 4999ms), Verdict::not_yet);
  EXPECT_EQ(begin(unknown(1), 5s), Verdict::go);
}

TEST_F(Schedule, what_has_long_been_unknown_is_asked_about_at_first_sight) {
  EXPECT_EQ(begin(unknown(1), 10min), Verdict::go);
}

TEST_F(Schedule, nobody_asks_while_somebody_asks) {
  EXPECT_EQ(begin(unknown(1), 10s), Verdict::go);
  EXPECT_EQ(begin(unknown(1), 10min), Verdict::not_yet);
  EXPECT_EQ(begin(unknown(2), 10min), Verdict::go) << "other records are not in the way";
}

TEST_F(Schedule, an_answer_that_settles_nothing_is_asked_for_again_later_and_later) {
  ASSERT_EQ(begin(unknown(1), 10s), Verdict::go);
  not_settled(unknown(1), 10s);
  EXPECT_EQ(begin(unknown(1), 14499ms), Verdict::not_yet);
  ASSERT_EQ(begin(unknown(1), 14500ms), Verdict::go);
  not_settled(unknown(1), 14500ms);
  EXPECT_EQ(begin(unknown(1), 23499ms), Verdict::not_yet);
  EXPECT_EQ(begin(unknown(1), 23500ms), Verdict::go);
}

TEST_F(Schedule, another_epoch_begins_anew) {
  ASSERT_EQ(begin(unknown(1), 10s), Verdict::go);
  not_settled(unknown(1), 10s);
  EXPECT_EQ(begin(unknown(1, 2), 11s), Verdict::go);
}

TEST_F(Schedule, gives_up_once_and_stays_so) {
  const ProbePolicy policy = asked_every(5s, 1min);
  EXPECT_EQ(begin(unknown(1), 59s, policy), Verdict::go);
  not_settled(unknown(1), 59s);
  EXPECT_EQ(begin(unknown(1), 64s, policy), Verdict::gives_up);
  EXPECT_EQ(begin(unknown(1), 65s, policy), Verdict::gave_up);
  EXPECT_EQ(begin(unknown(1), 48h, policy), Verdict::gave_up);
  EXPECT_EQ(begin(unknown(1), 48h, asked_every(5s, 72h)), Verdict::go)
      << "the policy has become more patient";
}

TEST_F(Schedule, the_rate_is_shared_by_all_records) {
  schedule = ProbeSchedule(1);
  EXPECT_EQ(begin(unknown(1), 10s), Verdict::go);
  EXPECT_EQ(begin(unknown(2), 10s), Verdict::not_yet);
  EXPECT_EQ(begin(unknown(2), 11s), Verdict::go);
}

TEST_F(Schedule, forgets_what_was_settled_and_what_nobody_asks_about) {
  ASSERT_EQ(begin(unknown(1), 10s), Verdict::go);
  ASSERT_EQ(begin(unknown(2), 10s), Verdict::go);
  schedule.settled(unknown(1).scope);
  EXPECT_EQ(schedule.size(), 1u);
  not_settled(unknown(2), 10s);
  schedule.forget_idle(after(59min).mono);
  EXPECT_EQ(schedule.size(), 1u);
  schedule.forget_idle(after(61min).mono);
  EXPECT_EQ(schedule.size(), 0u);
}

}  // namespace
}  // namespace onceward
