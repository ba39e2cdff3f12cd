#include "messaging/brokers/rabbitmq_publisher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "brokers/rabbitmq_desk.hpp"
#include "messaging/brokers/broker_sink.hpp"

namespace onceward::messaging {
namespace {

using testing::HasSubstr;

MonoTime soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(30); }

PendingEvent event(const std::string& id, const std::string& type, const std::string& payload) {
  PendingEvent pending;
  pending.event = {id, type, "application/json", payload};
  return pending;
}

std::unique_ptr<EventSink> sink_to(const std::string& exchange) {
  return std::move(*open_broker_sink(broker_url_of_the_test(), exchange));
}

TEST(RabbitmqSink, delivers_events_by_their_type_with_their_id) {
  RabbitmqDesk desk;
  desk.exchange(named("events"));
  desk.queue(named("paid"));
  desk.bind(named("paid"), named("events"), "payment.*");
  const std::vector<PendingEvent> batch = {event("1:payment.created", "payment.created", R"({"a":1})"),
                                           event("2:payment.failed", "payment.failed", R"({"b":2})")};
  for (const SendResult& result : sink_to(named("events"))->send(batch, soon())) {
    EXPECT_EQ(result.verdict, SendVerdict::delivered) << result.error;
  }
  const std::optional<Taken> first = desk.take(named("paid"));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->id, "1:payment.created");
  EXPECT_EQ(first->type, "payment.created");
  EXPECT_EQ(first->content_type, "application/json");
  EXPECT_EQ(first->body, R"({"a":1})");
  EXPECT_TRUE(first->persistent);
  EXPECT_EQ(desk.take(named("paid"))->id, "2:payment.failed");
}

TEST(RabbitmqSink, tells_the_event_that_no_queue_takes_from_the_others) {
  RabbitmqDesk desk;
  desk.exchange(named("events"));
  desk.queue(named("q"));
  desk.bind(named("q"), named("events"), "known");
  const std::unique_ptr<EventSink> sink = sink_to(named("events"));
  const std::vector<PendingEvent> batch = {event("1", "known", "x"), event("2", "nobody", "y"),
                                           event("3", "known", "z")};
  const std::vector<SendResult> results = sink->send(batch, soon());
  EXPECT_EQ(results[0].verdict, SendVerdict::delivered);
  EXPECT_EQ(results[1].verdict, SendVerdict::retry);
  EXPECT_THAT(results[1].error, HasSubstr("NO_ROUTE"));
  EXPECT_THAT(results[1].error, HasSubstr("'nobody'"));
  EXPECT_EQ(results[2].verdict, SendVerdict::delivered);
  // Once somebody listens, the same sink delivers it.
  desk.bind(named("q"), named("events"), "nobody");
  EXPECT_EQ(sink->send(std::span(batch).subspan(1, 1), soon())[0].verdict, SendVerdict::delivered);
  EXPECT_EQ(desk.waiting_in(named("q")), 3);
}

TEST(RabbitmqSink, says_that_the_exchange_is_not_there_and_delivers_when_it_is) {
  RabbitmqDesk desk;
  const std::unique_ptr<EventSink> sink = sink_to(named("late"));
  const std::vector<PendingEvent> batch = {event("1", "t", "x")};
  const SendResult missing = sink->send(batch, soon())[0];
  EXPECT_EQ(missing.verdict, SendVerdict::retry);
  EXPECT_THAT(missing.error, HasSubstr("NOT_FOUND"));
  desk.exchange(named("late"));
  desk.queue(named("q"));
  desk.bind(named("q"), named("late"), "#");
  EXPECT_EQ(sink->send(batch, soon())[0].verdict, SendVerdict::delivered);
}

TEST(RabbitmqSink, sets_aside_what_amqp_cannot_carry_and_delivers_the_rest) {
  RabbitmqDesk desk;
  desk.queue(named("q"));
  RabbitmqPublisher publisher(broker_of_the_test(), "");
  const std::vector<OutMessage> batch = {
      {named("q"), std::string(256, 'i'), "t", "text/plain", "x", {}},
      {named("q"), "ok", "t", "text/plain", std::string(1 << 20, 'b'), {}}};
  const std::vector<SendResult> results = publisher.publish(batch, soon());
  EXPECT_EQ(results[0].verdict, SendVerdict::poison);
  EXPECT_EQ(results[1].verdict, SendVerdict::delivered) << results[1].error;
  EXPECT_EQ(desk.take(named("q"))->body.size(), std::size_t{1} << 20);
}

TEST(RabbitmqSink, sends_nothing_after_the_deadline) {
  RabbitmqDesk desk;
  desk.queue(named("q"));
  RabbitmqPublisher publisher(broker_of_the_test(), "");
  const std::vector<OutMessage> batch = {{named("q"), "1", "t", "", "x", {}}};
  EXPECT_EQ(publisher.publish(batch, std::chrono::steady_clock::now())[0].verdict, SendVerdict::untried);
  EXPECT_EQ(desk.waiting_in(named("q")), 0);
}

TEST(RabbitmqSink, goes_on_after_the_broker_closed_its_connection) {
  RabbitmqDesk desk;
  desk.queue(named("q"));
  AmqpOptions options = broker_of_the_test();
  options.heartbeat = Duration(1000);
  RabbitmqPublisher publisher(options, "");
  const std::vector<OutMessage> batch = {{named("q"), "1", "t", "", "x", {}}};
  EXPECT_EQ(publisher.publish(batch, soon())[0].verdict, SendVerdict::delivered);
  // Without a sign of life for two heartbeats the broker hangs up.
  std::this_thread::sleep_for(std::chrono::seconds(4));
  EXPECT_EQ(publisher.publish(batch, soon())[0].verdict, SendVerdict::delivered);
  EXPECT_EQ(desk.waiting_in(named("q")), 2);
}

TEST(RabbitmqSink, says_why_it_cannot_connect_without_the_password) {
  AmqpOptions options = broker_of_the_test();
  options.password = "wrong-secret";
  RabbitmqPublisher publisher(options, "");
  const std::vector<OutMessage> batch = {{"q", "1", "t", "", "x", {}}};
  const SendResult refused = publisher.publish(batch, soon())[0];
  EXPECT_EQ(refused.verdict, SendVerdict::retry);
  EXPECT_THAT(refused.error, HasSubstr("ACCESS_REFUSED"));
  EXPECT_EQ(refused.error.find("wrong-secret"), std::string::npos);
}

TEST(RabbitmqSink, refuses_a_url_with_an_option_that_nobody_reads) {
  const auto sink = open_broker_sink("amqp://127.0.0.1?confirm=no", "e");
  ASSERT_FALSE(sink);
  EXPECT_EQ(sink.error().message, "amqp://: there is no option 'confirm'");
}

}  // namespace
}  // namespace onceward::messaging
