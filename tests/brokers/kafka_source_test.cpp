#include "messaging/brokers/kafka_source.hpp"

#include <gtest/gtest.h>

#include "brokers/kafka_cluster.hpp"
#include "brokers/source_reader.hpp"
#include "messaging/brokers/kafka_publisher.hpp"

namespace onceward::messaging {
namespace {

MonoTime soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(20); }

void put(KafkaCluster& cluster, const std::vector<std::string>& ids) {
  KafkaPublisher publisher(*kafka_options(*parse_broker_url(cluster.url("orders")), {}), "orders");
  std::vector<OutMessage> batch;
  for (const std::string& id : ids)
    batch.push_back({"k", id, "t", "application/json", "{}", {{"shop", "s"}}});
  for (const SendResult& result : publisher.publish(batch, soon())) {
    ASSERT_EQ(result.verdict, SendVerdict::delivered) << result.error;
  }
}

TEST(KafkaSource, commits_as_far_as_everything_has_ended_and_the_rest_comes_again) {
  KafkaCluster cluster;
  cluster.topic("orders");
  put(cluster, {"a", "b", "c"});
  auto source = connected_source({cluster.url("orders?group=g"), "", 10});
  const std::vector<Message> messages = take(*source, 3);
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[0].id, "a");
  EXPECT_EQ(messages[0].key, "k");
  EXPECT_EQ(messages[0].type, "t");
  EXPECT_EQ(messages[0].content_type, "application/json");
  EXPECT_EQ(messages[0].find("shop"), "s");
  ASSERT_TRUE(source->acknowledge(messages[0].delivery));
  ASSERT_TRUE(source->acknowledge(messages[2].delivery));  // b is still at work
  source->leave();
  EXPECT_EQ(cluster.committed("g", "orders"), 1);  // b and c come again
}

TEST(KafkaSource, puts_dead_letters_into_a_topic_of_their_own_and_says_why) {
  KafkaCluster cluster;
  cluster.topic("orders");
  cluster.topic("orders.dead");
  put(cluster, {"bad"});
  auto source = connected_source({cluster.url("orders?group=g"), "", 10});
  ASSERT_TRUE(source->dead_letter(take(*source, 1)[0], {{"x-onceward-error", "no"}}));
  const std::vector<KafkaRead> letters = cluster.read("orders.dead", 1);
  ASSERT_EQ(letters.size(), 1u);
  EXPECT_EQ(letters[0].key, "k");
  EXPECT_EQ(letters[0].header("id"), "bad");
  EXPECT_EQ(letters[0].header("shop"), "s");
  EXPECT_EQ(letters[0].header("x-onceward-error"), "no");
}

// The group expels a member that does not ask for so long.
TEST(KafkaSource, takes_nothing_while_there_is_no_room_and_remains_a_member) {
  KafkaCluster cluster;
  cluster.topic("orders");
  put(cluster, {"a", "b", "c"});
  KafkaOptions options = *kafka_options(*parse_broker_url(cluster.url("orders")), {});
  for (const char* limit : {"max.poll.interval.ms", "session.timeout.ms"})
    options.settings.emplace_back(limit, "10000");
  const auto source = make_kafka_source(options, "g", "orders.dead");
  ASSERT_TRUE(source->connect());
  ASSERT_EQ(take(*source, 1).size(), 1u);
  const WakeUp wake;
  const MonoTime end = std::chrono::steady_clock::now() + std::chrono::seconds(13);
  while (std::chrono::steady_clock::now() < end) {
    const Result<std::vector<Message>> none = source->receive(0, wake, end);
    ASSERT_TRUE(none) << none.error().message;
    ASSERT_TRUE(none->empty());
  }
  const std::vector<Message> rest = take(*source, 2);
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0].id, "b");
  EXPECT_EQ(rest[1].id, "c");
  EXPECT_TRUE(is_silent(*source));
}

TEST(KafkaSource, refuses_a_url_that_says_too_little) {
  EXPECT_EQ(make_source({"kafka://h?group=g", "", 1}).error().message, "kafka://…: the topic is missing");
  EXPECT_EQ(make_source({"kafka://h/t", "", 1}).error().message, "kafka://…: ?group=NAME is missing");
}

}  // namespace
}  // namespace onceward::messaging
