#include "messaging/brokers/redis_stream_sink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "messaging/brokers/redis_line.hpp"

namespace onceward::messaging {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string server() { return std::getenv("ONCEWARD_TEST_REDIS"); }
MonoTime soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(20); }

class RedisStreamSink : public ::testing::Test {
 protected:
  const std::string stream = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::unique_ptr<RedisLine> desk = std::move(*RedisLine::open(*parse_broker_url(server()), Duration(5000)));

  std::unique_ptr<EventSink> sink(const std::string& more = "") const {
    Result<std::unique_ptr<EventSink>> made =
        make_redis_stream_sink(*parse_broker_url(server() + "?stream=" + stream + more));
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }
  RedisReply ask(const RedisCommand& command) {
    Result<RedisReply> reply = desk->ask(command);
    EXPECT_TRUE(reply) << reply.error().message;
    return std::move(*reply);
  }
  static std::vector<PendingEvent> batch(std::size_t count) {
    std::vector<PendingEvent> events(count);
    for (std::size_t i = 0; i < count; ++i)
      events[i].event = {std::to_string(i), "t", "text/plain", "p" + std::to_string(i)};
    return events;
  }
  static bool all_delivered(const std::vector<SendResult>& results) {
    return std::ranges::all_of(
        results, [](const SendResult& result) { return result.verdict == SendVerdict::delivered; });
  }
};

TEST_F(RedisStreamSink, writes_each_event_in_order_as_an_entry_of_four_fields) {
  EXPECT_TRUE(all_delivered(sink()->send(batch(100), soon())));
  const RedisReply entries = ask({"XRANGE", stream, "-", "+"});
  ASSERT_EQ(entries->elements, 100u);
  std::vector<std::string> words;
  for (const redisReply* word : elements_of(*elements_of(*entries->element[7])[1]))
    words.emplace_back(text_of(*word));
  EXPECT_THAT(words, ElementsAre("id", "7", "type", "t", "content_type", "text/plain", "payload", "p7"));
}

TEST_F(RedisStreamSink, reaches_a_server_that_speaks_tls_and_none_that_it_does_not_trust) {
  const std::string url = std::getenv("ONCEWARD_TEST_REDIS_TLS");  // with ?ca=…
  const auto trusted = make_redis_stream_sink(*parse_broker_url(url + "&stream=" + stream));
  ASSERT_TRUE(trusted) << trusted.error().message;
  EXPECT_TRUE(all_delivered((*trusted)->send(batch(100), soon())));
  const auto encrypted = RedisLine::open(*parse_broker_url(url), Duration(5000));
  ASSERT_TRUE(encrypted) << encrypted.error().message;
  EXPECT_EQ((*(*encrypted)->ask({"XLEN", stream}))->integer, 100);
  const auto unknown =
      make_redis_stream_sink(*parse_broker_url(url.substr(0, url.find('?')) + "?stream=" + stream));
  EXPECT_EQ((*unknown)->send(batch(1), soon())[0].verdict, SendVerdict::retry);
}

TEST_F(RedisStreamSink, sends_again_at_once_when_the_server_had_closed_the_connection) {
  const auto to = sink();
  ASSERT_TRUE(all_delivered(to->send(batch(1), soon())));
  ask({"CLIENT", "KILL", "TYPE", "normal"});  // all but the one that asks
  EXPECT_TRUE(all_delivered(to->send(batch(3), soon())));
  EXPECT_EQ(ask({"XLEN", stream})->integer, 4);
}

TEST_F(RedisStreamSink, says_what_the_server_said_and_goes_on_when_it_is_repaired) {
  ask({"SET", stream, "no stream"});
  const auto to = sink();
  for (const SendResult& result : to->send(batch(2), soon())) {
    EXPECT_EQ(result.verdict, SendVerdict::retry);
    EXPECT_THAT(result.error, HasSubstr("the server answered: WRONGTYPE"));
  }
  ask({"DEL", stream});
  EXPECT_TRUE(all_delivered(to->send(batch(2), soon())));
}

TEST_F(RedisStreamSink, keeps_the_stream_about_as_short_as_it_is_told_to) {
  const auto to = sink("&maxlen=100");
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(all_delivered(to->send(batch(100), soon())));
  EXPECT_LT(ask({"XLEN", stream})->integer, 300);
}

}  // namespace
}  // namespace onceward::messaging
