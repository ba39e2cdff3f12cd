#include "messaging/brokers/kafka_publisher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "brokers/kafka_cluster.hpp"
#include "messaging/brokers/broker_sink.hpp"

namespace onceward::messaging {
namespace {

using testing::HasSubstr;

MonoTime in(int milliseconds) { return std::chrono::steady_clock::now() + Duration(milliseconds); }

PendingEvent event(const std::string& id, std::uint8_t scope) {
  PendingEvent pending;
  pending.scope.data[0] = scope;
  pending.event = {id, "order.paid", "application/json", "{\"id\":\"" + id + "\"}"};
  return pending;
}

TEST(KafkaSink, delivers_events_keyed_by_their_scope_with_their_id) {
  KafkaCluster cluster;
  cluster.topic("events");
  const std::unique_ptr<EventSink> sink = std::move(*open_broker_sink(cluster.url("events"), ""));
  const std::vector<PendingEvent> batch = {event("a", 0xab), event("b", 0x01)};
  for (const SendResult& result : sink->send(batch, in(20'000))) {
    EXPECT_EQ(result.verdict, SendVerdict::delivered) << result.error;
  }
  const std::vector<KafkaRead> read = cluster.read("events", 2);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].key, "ab" + std::string(62, '0'));
  EXPECT_EQ(read[0].body, R"({"id":"a"})");
  EXPECT_EQ(read[0].header("id"), "a");
  EXPECT_EQ(read[0].header("type"), "order.paid");
  EXPECT_EQ(read[0].header("content-type"), "application/json");
  EXPECT_EQ(read[1].header("id"), "b");
}

TEST(KafkaSink, retries_within_the_producer_without_a_second_copy) {
  KafkaCluster cluster;
  cluster.topic("events");
  const rd_kafka_resp_err_t lost[] = {RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT};
  rd_kafka_mock_push_request_errors_array(cluster.mock(), 0 /* Produce */, 2, lost);
  const std::unique_ptr<EventSink> sink = std::move(*open_broker_sink(cluster.url("events"), ""));
  EXPECT_EQ(sink->send(std::vector{event("a", 1)}, in(20'000))[0].verdict, SendVerdict::delivered);
  // A second copy would stand before what is sent afterwards: no need to wait for it not to come.
  EXPECT_EQ(sink->send(std::vector{event("after it", 1)}, in(20'000))[0].verdict, SendVerdict::delivered);
  const std::vector<KafkaRead> read = cluster.read("events", 2);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].header("id"), "a");
  EXPECT_EQ(read[1].header("id"), "after it");
}

TEST(KafkaSink, sets_aside_an_event_that_is_too_large_and_delivers_the_rest) {
  KafkaCluster cluster;
  cluster.topic("events");
  const std::unique_ptr<EventSink> sink = std::move(*open_broker_sink(cluster.url("events"), ""));
  std::vector<PendingEvent> batch = {event("large", 1), event("small", 2)};
  batch[0].event.payload.assign(2 << 20, 'x');
  const std::vector<SendResult> results = sink->send(batch, in(20'000));
  EXPECT_EQ(results[0].verdict, SendVerdict::poison);
  EXPECT_THAT(results[0].error, HasSubstr("large"));
  EXPECT_EQ(results[1].verdict, SendVerdict::delivered);
}

TEST(KafkaSink, gives_up_at_the_deadline_and_delivers_when_the_cluster_answers) {
  KafkaCluster cluster;
  cluster.topic("events");
  rd_kafka_mock_broker_set_down(cluster.mock(), 1);
  const std::unique_ptr<EventSink> sink = std::move(*open_broker_sink(cluster.url("events"), ""));
  const auto began = std::chrono::steady_clock::now();
  const SendResult late = sink->send(std::vector{event("a", 1)}, in(300))[0];
  EXPECT_EQ(late.verdict, SendVerdict::retry);
  EXPECT_EQ(late.error, "kafka: not acknowledged in time");
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
  rd_kafka_mock_broker_set_up(cluster.mock(), 1);
  EXPECT_EQ(sink->send(std::vector{event("a", 1)}, in(20'000))[0].verdict, SendVerdict::delivered);
}

TEST(KafkaSink, refuses_a_url_without_a_topic_or_with_what_the_client_does_not_know) {
  EXPECT_EQ(open_broker_sink("kafka://h", "").error().message, "kafka://…: the topic is missing");
  EXPECT_FALSE(open_broker_sink("kafka://u:p@h/t?mechanism=NONE", ""));
}

}  // namespace
}  // namespace onceward::messaging
