#include "core/adoption.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace onceward {
namespace {

using namespace std::chrono_literals;

const Timestamp now{Duration(1'000'000)};

Record in(State state) {
  Record record;
  record.operation_id.data[0] = 2;
  record.epoch = 3;
  record.state = state;
  record.lease_until = record.hold_until = now + 10s;
  record.receipt_ttl = 10s;
  record.request = std::make_shared<const RequestInfo>();
  if (state != State::claimed && state != State::processing && state != State::unknown)
    record.expires_at = now + 10s;
  return record;
}

TEST(Adoption, a_copy_is_taken_only_when_it_is_later_in_the_same_life) {
  using enum State;
  constexpr State in_order[] = {claimed, processing, unknown, released, succeeded, expired};
  for (const State standing : in_order) {
    for (const State copied : in_order) {
      SCOPED_TRACE(std::string(to_string(copied)) + " over " + std::string(to_string(standing)));
      const Record stored = in(standing);
      Record copy = in(copied);
      const bool later = std::ranges::find(in_order, copied) > std::ranges::find(in_order, standing);
      const AdoptStep step = transition(&stored, copy, now);
      EXPECT_EQ(step.next.has_value(), later);
      EXPECT_EQ(*step.reply, later);
      copy.epoch = stored.epoch - 1;
      EXPECT_FALSE(transition(&stored, copy, now).next) << "an epoch that is over";
      copy.epoch = stored.epoch + 1;
      EXPECT_TRUE(transition(&stored, copy, now).next) << "a later epoch";
      copy.operation_id.data[0] ^= 1;
      EXPECT_FALSE(transition(&stored, copy, now).next) << "another life of the key";
      EXPECT_TRUE(transition(nullptr, copy, now).next);
    }
  }
}

TEST(Adoption, a_record_that_stands_is_compared_as_it_is_now) {
  const Record stored = in(State::processing);
  EXPECT_FALSE(transition(&stored, in(State::unknown), stored.lease_until).next)
      << "its lease has ended here too";
  const Record over = in(State::succeeded);
  Record anew = in(State::processing);
  anew.operation_id.data[0] = 9;
  anew.hold_until = anew.lease_until = now + 1h;
  EXPECT_TRUE(transition(&over, anew, over.expires_at + over.receipt_ttl).next)
      << "what is gone stands no more";
}

TEST(Adoption, a_copy_with_a_renewed_lease_is_later_and_one_that_is_gone_is_not_taken) {
  const Record stored = in(State::processing);
  Record copy = stored;
  EXPECT_FALSE(transition(&stored, copy, now).next);
  copy.hold_until = copy.lease_until += 1s;
  EXPECT_TRUE(transition(&stored, copy, now).next);
  const Record over = in(State::succeeded);
  EXPECT_FALSE(transition(nullptr, over, over.expires_at + over.receipt_ttl).next);
}

MarkEntry fact_of(std::uint8_t who, std::optional<Timestamp> until) {
  MarkEntry entry;
  entry.scope.data[0] = 9;
  entry.holder.scope.data[0] = who;
  entry.holder.operation_id.data[0] = 2;
  entry.until = until;
  return entry;
}

TEST(Adoption, a_mark_is_taken_unless_one_stands_there_or_ends_later) {
  Record running = in(State::processing);
  running.scope.data[0] = 1;
  Record failed = in(State::failed);
  failed.scope.data[0] = 1;
  const struct {
    const char* why;
    std::optional<Timestamp> ends;
    std::optional<MarkEntry> entry;
    const Record* holder;
    bool taken;
  } cases[] = {
      {"nothing is there", now + 5s, {}, nullptr, true},
      {"its time is over", now, {}, nullptr, false},
      {"it has no end and comes with its record", {}, {}, nullptr, false},
      {"the same", now + 5s, fact_of(1, now + 5s), nullptr, false},
      {"the same with a later end", now + 5s, fact_of(1, now + 6s), nullptr, false},
      {"the same with an earlier end", now + 5s, fact_of(1, now + 4s), nullptr, true},
      {"the same, open here", now + 5s, fact_of(1, {}), &running, false},
      {"the same, open once, its record gone", now + 5s, fact_of(1, {}), nullptr, true},
      {"another's that stands", now + 5s, fact_of(3, now + 1s), nullptr, false},
      {"another's whose time is over", now + 5s, fact_of(3, now), nullptr, true},
      {"another's whose record is gone", now + 5s, fact_of(3, {}), nullptr, true},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(takes_mark(fact_of(1, c.ends), c.entry ? &*c.entry : nullptr, c.holder, now), c.taken) << c.why;
  }
  EXPECT_TRUE(takes_mark(fact_of(3, now + 5s), &cases[3].entry.value(), &failed, now)) << "no effect";
}

}  // namespace
}  // namespace onceward
