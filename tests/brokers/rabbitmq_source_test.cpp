#include "messaging/brokers/rabbitmq_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "brokers/rabbitmq_desk.hpp"
#include "brokers/source_reader.hpp"

namespace onceward::messaging {
namespace {

using testing::HasSubstr;

SourceOptions source_of(const std::string& queue, std::size_t unacknowledged = 10) {
  return {broker_url_of_the_test() + "?queue=" + queue, "", unacknowledged};
}

TEST(RabbitmqSource, takes_messages_and_forgets_the_acknowledged) {
  RabbitmqDesk desk;
  desk.queue(named("q"));
  desk.put(named("q"), "m1", "{}");
  desk.put(named("q"), "m2", "[]");
  auto source = connected_source(source_of(named("q")));
  const std::vector<Message> messages = take(*source, 2);
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].id, "m1");
  EXPECT_EQ(messages[0].body, "{}");
  EXPECT_EQ(messages[0].content_type, "application/json");
  EXPECT_EQ(messages[0].find("Message-Id"), "m1");
  ASSERT_TRUE(source->acknowledge(messages[0].delivery));
  source->leave();
  auto next = connected_source(source_of(named("q")));
  const std::vector<Message> again = take(*next, 1);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].id, "m2");
  EXPECT_TRUE(is_silent(*next));
}

TEST(RabbitmqSource, takes_no_more_than_it_may_hold) {
  RabbitmqDesk desk;
  desk.queue(named("q"));
  for (const char* id : {"a", "b", "c"}) desk.put(named("q"), id, "{}");
  auto source = connected_source(source_of(named("q"), 2));
  const std::vector<Message> first = take(*source, 2);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_TRUE(is_silent(*source));
  ASSERT_TRUE(source->acknowledge(first[0].delivery));
  EXPECT_EQ(take(*source, 1)[0].id, "c");
}

TEST(RabbitmqSource, puts_dead_letters_into_a_queue_of_their_own_and_says_why) {
  RabbitmqDesk desk;
  desk.queue(named("q"));
  desk.put(named("q"), "bad", "{}");
  auto source = connected_source(source_of(named("q")));
  ASSERT_TRUE(source->dead_letter(take(*source, 1)[0], {{"x-onceward-error", "no"}}));
  const std::optional<Taken> letter = desk.take(named("q") + ".dead");
  ASSERT_TRUE(letter);
  EXPECT_EQ(letter->id, "bad");
  EXPECT_EQ(letter->content_type, "application/json");
  EXPECT_EQ(letter->header("x-onceward-error"), "no");
  EXPECT_TRUE(letter->persistent);
  source->leave();
  EXPECT_EQ(desk.waiting_in(named("q")), 0);
}

TEST(RabbitmqSource, says_that_the_queue_is_not_there_or_was_deleted) {
  auto missing = make_source(source_of(named("none")));
  const Result<Done> connected = (*missing)->connect();
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().code, Errc::not_found);
  EXPECT_THAT(connected.error().message, HasSubstr(named("none")));
  RabbitmqDesk desk;
  desk.queue(named("q"));
  auto source = connected_source(source_of(named("q")));
  desk.drop_queue(named("q"));
  const WakeUp wake;
  const auto gone = source->receive(1, wake, std::chrono::steady_clock::now() + std::chrono::seconds(30));
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().message, HasSubstr("was deleted"));
}

TEST(RabbitmqSource, can_be_woken_while_it_waits) {
  RabbitmqDesk desk;
  desk.queue(named("q"));
  auto source = connected_source(source_of(named("q")));
  const WakeUp wake;
  wake.signal();
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(source->receive(1, wake, began + std::chrono::seconds(30))->empty());
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
}

TEST(RabbitmqSource, refuses_a_url_without_a_queue) {
  EXPECT_EQ(make_source({"amqp://h", "", 1}).error().message, "amqp://…: ?queue=NAME is missing");
}

}  // namespace
}  // namespace onceward::messaging
