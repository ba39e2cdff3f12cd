#include "messaging/brokers/redis_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "brokers/source_reader.hpp"
#include "messaging/brokers/redis_line.hpp"
#include "support/tcp_gate.hpp"

namespace onceward::messaging {
namespace {

std::string server() { return std::getenv("ONCEWARD_TEST_REDIS"); }

class RedisSource : public ::testing::Test {
 protected:
  const std::string stream = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::unique_ptr<RedisLine> desk =
      std::move(*RedisLine::open(*parse_broker_url(server()), Duration(30'000)));

  SourceOptions options(const std::string& more = "") const {
    return {server() + "?stream=" + stream + "&group=g&timeout=30s" + more, "", 10};
  }
  RedisReply ask(const RedisCommand& command) {
    Result<RedisReply> reply = desk->ask(command);
    EXPECT_TRUE(reply) << reply.error().message;
    return std::move(*reply);
  }
  void put(const std::string& id) { ask({"XADD", stream, "*", "id", id, "payload", "{}"}); }
  long long pending() {
    const RedisReply reply = ask({"XPENDING", stream, "g"});
    return reply->element[0]->integer;
  }
};

TEST_F(RedisSource, takes_what_was_there_before_the_group_and_what_comes_later) {
  put("m1");
  auto source = connected_source(options());
  std::vector<Message> messages = take(*source, 1);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].id, "m1");
  EXPECT_EQ(messages[0].body, "{}");
  put("m2");
  messages = take(*source, 1);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].id, "m2");
  EXPECT_EQ(pending(), 2);
  ASSERT_TRUE(source->acknowledge(messages[0].delivery));
  EXPECT_EQ(pending(), 1);
}

TEST_F(RedisSource, claims_what_a_consumer_that_died_had_taken) {
  put("m1");
  ask({"XGROUP", "CREATE", stream, "g", "0"});
  ask({"XREADGROUP", "GROUP", "g", "dead", "STREAMS", stream, ">"});
  auto source = connected_source(options("&claim_after=100ms"));
  const std::vector<Message> claimed = take(*source, 1);
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].id, "m1");
}

TEST_F(RedisSource, keeps_what_it_is_at_work_on_from_being_claimed) {
  put("m1");
  auto first = connected_source(options("&claim_after=3s"));
  ASSERT_EQ(take(*first, 1).size(), 1u);
  auto second = connected_source(options("&claim_after=3s"));
  const WakeUp wake;
  const MonoTime end = std::chrono::steady_clock::now() + Duration(4500);
  while (std::chrono::steady_clock::now() < end) {
    EXPECT_TRUE(first->receive(0, wake, std::chrono::steady_clock::now() + Duration(50))->empty());
    EXPECT_TRUE(second->receive(5, wake, std::chrono::steady_clock::now() + Duration(50))->empty());
  }
}

TEST_F(RedisSource, leaves_what_it_did_not_finish_to_the_next_one_at_once) {
  put("m1");
  auto first = connected_source(options());
  ASSERT_EQ(take(*first, 1).size(), 1u);
  first->leave();
  auto second = connected_source(options());
  const std::vector<Message> messages = take(*second, 1);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].id, "m1");
}

TEST_F(RedisSource, takes_its_name_with_it_when_everything_was_done) {
  put("m1");
  auto source = connected_source(options());
  ASSERT_TRUE(source->acknowledge(take(*source, 1)[0].delivery));
  source->leave();
  EXPECT_TRUE(elements_of(*ask({"XINFO", "CONSUMERS", stream, "g"})).empty());
}

TEST_F(RedisSource, loses_nothing_that_the_server_gives_it_while_it_leaves) {
  const auto port = static_cast<std::uint16_t>(std::stoi(server().substr(server().rfind(':') + 1)));
  testing::TcpGate gate(port);
  const std::string more = "&claim_after=100ms";
  SourceOptions through_the_gate = options(more);
  through_the_gate.url.replace(0, server().size(), "redis://127.0.0.1:" + std::to_string(gate.port()));
  auto first = connected_source(through_the_gate);
  ASSERT_TRUE(is_silent(*first));  // it has asked, and the server lets it wait
  gate.keep_farewells();
  gate.before_next_answer([&] {
    const auto writer = RedisLine::open(*parse_broker_url(server()), Duration(5000));
    EXPECT_TRUE((*writer)->ask({"XADD", stream, "*", "id", "m1", "payload", "{}"}));
  });
  first->leave();
  auto second = connected_source(options(more));
  const std::vector<Message> messages = take(*second, 1);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].id, "m1");
}

TEST_F(RedisSource, keeps_a_message_whose_dead_letter_cannot_be_written) {
  put("bad");
  ask({"SET", stream + ".dead", "no stream"});
  auto source = connected_source(options());
  const std::vector<Message> taken = take(*source, 1);
  ASSERT_EQ(taken.size(), 1u);
  const Result<Done> put_aside = source->dead_letter(taken[0], {{"x-onceward-error", "no"}});
  EXPECT_FALSE(put_aside);
  EXPECT_EQ(pending(), 1);
  ask({"DEL", stream + ".dead"});
  EXPECT_TRUE(source->dead_letter(taken[0], {{"x-onceward-error", "no"}}));
  EXPECT_EQ(pending(), 0);
}

TEST_F(RedisSource, puts_dead_letters_into_a_stream_of_their_own_and_says_why) {
  put("bad");
  auto source = connected_source(options());
  ASSERT_TRUE(source->dead_letter(take(*source, 1)[0], {{"x-onceward-error", "no"}}));
  EXPECT_EQ(pending(), 0);
  const RedisReply letters = ask({"XRANGE", stream + ".dead", "-", "+"});
  ASSERT_EQ(letters->elements, 1u);
  std::vector<std::string> words;
  for (const redisReply* word : elements_of(*elements_of(*letters->element[0])[1]))
    words.emplace_back(text_of(*word));
  EXPECT_THAT(words, ::testing::ElementsAre("id", "bad", "payload", "{}", "x-onceward-error", "no"));
}

TEST_F(RedisSource, can_be_woken_while_it_waits) {
  auto source = connected_source(options());
  const WakeUp wake;
  std::thread other([&] {
    std::this_thread::sleep_for(Duration(50));
    wake.signal();
  });
  EXPECT_TRUE(source->receive(1, wake, std::chrono::steady_clock::now() + std::chrono::seconds(30))->empty());
  other.join();
  put("m1");  // what was asked for before is answered now
  EXPECT_EQ(take(*source, 1)[0].id, "m1");
}

TEST_F(RedisSource, says_what_the_server_said) {
  ask({"SET", stream, "no stream"});
  const Result<Done> connected = (*make_source(options()))->connect();
  ASSERT_FALSE(connected);
  EXPECT_THAT(connected.error().message, ::testing::HasSubstr("WRONGTYPE"));
}

TEST_F(RedisSource, refuses_a_url_that_says_too_little_or_too_much) {
  EXPECT_EQ(make_source({"redis://h?group=g", "", 1}).error().message, "redis://…: ?stream=NAME is missing");
  EXPECT_EQ(make_source({"redis://h?stream=s", "", 1}).error().message, "redis://…: ?group=NAME is missing");
  EXPECT_EQ(make_source({"redis://h?stream=s&group=g&x=1", "", 1}).error().message,
            "redis://: there is no option 'x'");
}

}  // namespace
}  // namespace onceward::messaging
