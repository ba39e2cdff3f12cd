#include "messaging/relay.hpp"

#include "messaging/relay_fixture.hpp"

namespace onceward::messaging {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

SendResult not_now(const PendingEvent&) { return {SendVerdict::retry, "down"}; }

TEST_F(RelayTest, an_event_is_sent_at_once_when_its_writer_rings) {
  Machine& m = machine();
  time.advance(10s);
  write(m, scope(3), "a");
  time.advance(1ms);
  EXPECT_THAT(m.sender.delivered, ElementsAre("a"));
  EXPECT_THAT(outbox.events(), IsEmpty());
  EXPECT_EQ(m.observer.sent_events, 1u);
}

TEST_F(RelayTest, what_another_process_wrote_is_found_by_looking_now_and_then) {
  Machine& m = machine();
  time.advance(10s);
  outbox.write(scope(5), "a");
  time.advance(options.poll * 2);
  EXPECT_THAT(m.sender.delivered, ElementsAre("a"));
}

TEST_F(RelayTest, an_idle_relay_writes_nothing_and_looks_rarely) {
  machine();
  time.advance(1s);
  const std::size_t before = outbox.fetches;
  time.advance(100s);
  EXPECT_LE(outbox.fetches - before, 16u * 56);
  EXPECT_EQ(outbox.calls("claim") + outbox.calls("renew") + outbox.calls("release"), 0);
}

TEST_F(RelayTest, a_claim_is_given_up_when_there_has_been_nothing_for_a_while) {
  Machine& m = machine();
  write(m, scope(3), "a");
  time.advance(1ms);
  EXPECT_EQ(outbox.calls("claim"), 1);
  EXPECT_EQ(outbox.calls("release"), 0);
  time.advance(10s);
  EXPECT_EQ(outbox.calls("release"), 1);
}

TEST_F(RelayTest, events_of_one_record_go_out_in_order_and_never_side_by_side) {
  Machine& m = machine();
  for (const char* id : {"a1", "a2", "a3"}) outbox.write(scope(1), id);
  for (const char* id : {"b1", "b2"}) outbox.write(scope(1, 9), id);
  m.relay.wake(2);
  time.advance(1s);
  EXPECT_THAT(m.sender.delivered, ElementsAre("a1", "b1", "a2", "b2", "a3"));
}

TEST_F(RelayTest, what_follows_a_failed_event_of_its_record_waits_for_it) {
  Machine& m = machine();
  bool down = true;
  m.sender.answer = [&](const PendingEvent& e) {
    return down && e.event.id == "a1" ? not_now(e) : SendResult{SendVerdict::delivered, ""};
  };
  outbox.write(scope(1), "a1");
  outbox.write(scope(1), "a2");
  outbox.write(scope(1, 9), "b1");
  m.relay.wake(2);
  time.advance(500ms);
  EXPECT_THAT(m.sender.delivered, ElementsAre("b1"));
  down = false;
  time.advance(5s);
  EXPECT_THAT(m.sender.delivered, ElementsAre("b1", "a1", "a2"));
}

TEST_F(RelayTest, a_sink_that_is_down_is_asked_ever_more_rarely_and_gets_everything_when_it_is_back) {
  options.attempts = 1000;
  Machine& m = machine();
  m.sender.answer = not_now;
  for (int i = 0; i < 100; ++i) write(m, scope(static_cast<std::uint8_t>(i), 1), std::to_string(i));
  time.advance(60s);
  const std::size_t in_the_first_minute = m.sender.attempts.size();
  time.advance(60s);
  EXPECT_LT(m.sender.attempts.size() - in_the_first_minute, in_the_first_minute);
  m.sender.answer = nullptr;
  time.advance(options.max_backoff * 2);
  EXPECT_EQ(m.sender.delivered.size(), 100u);
  EXPECT_THAT(outbox.events(), IsEmpty());
}

TEST_F(RelayTest, what_was_written_while_the_sink_was_down_is_sent_when_the_pause_ends) {
  Machine& m = machine();
  time.advance(1s);
  m.sender.answer = not_now;
  write(m, scope(3), "a");
  time.advance(10ms);
  ASSERT_THAT(m.sender.attempts, ElementsAre("a"));
  m.sender.answer = nullptr;
  write(m, scope(4), "b");
  time.advance(10ms);
  EXPECT_THAT(m.sender.delivered, IsEmpty());
  time.advance(100ms);
  EXPECT_THAT(m.sender.delivered, ElementsAre("b"));
}

TEST_F(RelayTest, a_sink_that_was_not_tried_is_not_down) {
  Machine& m = machine();
  time.advance(1s);
  m.sender.answer = [](const PendingEvent& e) {
    return SendResult{e.event.id == "a" ? SendVerdict::untried : SendVerdict::delivered, ""};
  };
  write(m, scope(3), "a");
  time.advance(1ms);
  ASSERT_THAT(m.sender.attempts, ElementsAre("a"));
  write(m, scope(4), "b");
  time.advance(1ms);
  EXPECT_THAT(m.sender.delivered, ElementsAre("b"));
}

TEST_F(RelayTest, what_could_not_be_tried_is_looked_at_again_after_a_while) {
  Machine& m = machine();
  time.advance(1s);
  m.sender.answer = [](const PendingEvent&) { return SendResult{SendVerdict::untried, ""}; };
  for (int i = 0; i < 200; ++i) outbox.write(scope(3, static_cast<std::uint8_t>(i)), std::to_string(i));
  m.relay.wake(8);
  time.advance(1ms);
  const std::size_t at_once = outbox.fetches;
  time.advance(100ms);
  EXPECT_EQ(outbox.fetches, at_once);
  EXPECT_GT(m.sender.attempts.size(), 0u);
  m.sender.answer = nullptr;
  time.advance(options.poll * 2);
  EXPECT_EQ(m.sender.delivered.size(), 200u);
}

TEST_F(RelayTest, an_event_that_fails_too_often_is_set_aside_and_holds_nothing_up) {
  options.attempts = 3;
  Machine& m = machine();
  m.sender.answer = [](const PendingEvent& e) {
    return e.event.id == "a1" ? not_now(e) : SendResult{SendVerdict::delivered, ""};
  };
  outbox.write(scope(1), "a1");
  outbox.write(scope(1), "a2");
  m.relay.wake(2);
  time.advance(60s);
  EXPECT_THAT(m.sender.attempts, ElementsAre("a1", "a1", "a1", "a2"));
  ASSERT_EQ(outbox.events().size(), 1u);
  EXPECT_TRUE(outbox.events().front().set_aside);
  EXPECT_EQ(outbox.events().front().last_error, "down");
  EXPECT_EQ(m.observer.set_asides, 1u);
}

TEST_F(RelayTest, poison_is_set_aside_at_once) {
  Machine& m = machine();
  m.sender.answer = [](const PendingEvent&) { return SendResult{SendVerdict::poison, "never"}; };
  write(m, scope(1), "a");
  time.advance(60s);
  EXPECT_THAT(m.sender.attempts, ElementsAre("a"));
  EXPECT_TRUE(outbox.events().front().set_aside);
}

TEST_F(RelayTest, what_was_set_aside_is_sent_when_an_operator_retries_it) {
  Machine& m = machine();
  m.sender.answer = [](const PendingEvent&) { return SendResult{SendVerdict::poison, "never"}; };
  write(m, scope(1), "a");
  time.advance(1s);
  m.sender.answer = nullptr;
  Reply<std::size_t> reply(time.executor);
  outbox.retry_events({}, reply);
  m.relay.wake(0xffff);
  time.advance(1ms);
  EXPECT_THAT(m.sender.delivered, ElementsAre("a"));
}

TEST_F(RelayTest, two_machines_send_each_event_once) {
  Machine& one = machine();
  Machine& two = machine();
  for (std::uint8_t i = 0; i < 64; ++i) {
    outbox.write(scope(i), "e" + std::to_string(i));
    (i % 2 == 0 ? one : two).relay.wake(std::uint32_t{1} << (i % 16));
    time.advance(3ms);
  }
  time.advance(30s);
  EXPECT_EQ(one.sender.attempts.size() + two.sender.attempts.size(), 64u);
  EXPECT_THAT(outbox.events(), IsEmpty());
}

TEST_F(RelayTest, a_machine_whose_lease_has_ended_cannot_settle_what_its_successor_sends) {
  Machine& one = machine();
  one.sender.takes = options.lease() * 3;  // stuck beyond its lease
  write(one, scope(3), "a");
  time.advance(1ms);
  for (int i = 0; i < 50; ++i) outbox.fail_next("renew", {});
  time.advance(options.lease() + 1s);
  Machine& two = machine();
  time.advance(options.poll * 2);
  EXPECT_THAT(two.sender.delivered, ElementsAre("a"));
  time.advance(options.lease() * 3);
  EXPECT_EQ(one.observer.sent_events, 0u);
  EXPECT_EQ(two.observer.sent_events, 1u);
}

TEST_F(RelayTest, no_send_may_last_longer_than_the_claim) {
  Machine& m = machine();
  write(m, scope(3), "a");
  time.advance(1s);
  ASSERT_FALSE(m.sender.deadlines.empty());
  EXPECT_LE(m.sender.deadlines.front(), options.timeout);
  EXPECT_LT(options.timeout, options.lease());
}

TEST_F(RelayTest, a_settlement_whose_reply_is_lost_is_asked_for_again) {
  Machine& m = machine();
  outbox.lost_settles = 2;
  write(m, scope(3), "a");
  time.advance(1s);
  EXPECT_THAT(m.sender.attempts, ElementsAre("a"));
  EXPECT_THAT(outbox.events(), IsEmpty());
}

TEST_F(RelayTest, a_store_that_is_down_loses_nothing) {
  Machine& m = machine();
  outbox.is_down = true;
  write(m, scope(3), "a");
  time.advance(10s);
  EXPECT_GT(m.observer.store_failures, 0u);
  outbox.is_down = false;
  time.advance(5s);
  EXPECT_THAT(m.sender.delivered, ElementsAre("a"));
}

TEST_F(RelayTest, what_was_written_before_the_end_is_sent_and_the_claims_are_given_up) {
  Machine& m = machine();
  time.advance(1s);
  write(m, scope(3), "a");
  write(m, scope(4), "b");
  m.relay.stop(time.clock.mono() + 1s);
  time.advance(1ms);
  EXPECT_TRUE(m.relay.is_idle());
  EXPECT_THAT(m.sender.delivered, UnorderedElementsAre("a", "b"));
  EXPECT_EQ(outbox.calls("release"), 2);
}

TEST(BackOff, doubles_up_to_its_limit_a_quarter_more_or_less) {
  RelayOptions options;
  options.backoff = 1000ms;
  options.max_backoff = 60'000ms;
  struct Case {
    std::uint32_t attempts;
    Duration middle;
  };
  for (const auto& [attempts, middle] : {Case{1, 1s}, Case{2, 2s}, Case{3, 4s}, Case{6, 32s}, Case{7, 60s},
                                         Case{40, 60s}, Case{4'000'000, 60s}}) {
    EXPECT_EQ(back_off(options, attempts, 0), middle * 3 / 4) << attempts;
    EXPECT_EQ(back_off(options, attempts, 65535), middle * 5 / 4) << attempts;
  }
}

}  // namespace
}  // namespace onceward::messaging
