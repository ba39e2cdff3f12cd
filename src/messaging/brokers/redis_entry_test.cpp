#include "messaging/brokers/redis_entry.hpp"

#include <gtest/gtest.h>

namespace onceward::messaging {
namespace {

TEST(RedisEntry, takes_what_the_outbox_writes) {
  const Message message = message_of(
      "7-1", {{"id", "op:paid"}, {"type", "paid"}, {"content_type", "text/x"}, {"payload", "P"}}, "");
  EXPECT_EQ(message.id, "op:paid");
  EXPECT_EQ(message.type, "paid");
  EXPECT_EQ(message.content_type, "text/x");
  EXPECT_EQ(message.body, "P");
  EXPECT_TRUE(message.headers.empty());
  EXPECT_EQ(message.delivery.entry, "7-1");
}

TEST(RedisEntry, is_known_by_its_entry_when_nobody_gave_it_an_id) {
  EXPECT_EQ(message_of("7-1", {{"data", "x"}}, "").id, "7-1");
}

TEST(RedisEntry, has_the_body_that_was_asked_for_and_the_rest_as_headers) {
  const Message message = message_of("7-1", {{"payload", "a"}, {"json", "b"}}, "json");
  EXPECT_EQ(message.body, "b");
  EXPECT_EQ(message.find("PAYLOAD"), "a");
}

TEST(RedisEntry, without_a_body_is_an_object_of_its_fields) {
  const Message message = message_of("7-1", {{"order", "1"}, {"note", "a \"b\""}}, "");
  EXPECT_EQ(message.body, R"({"order":"1","note":"a \"b\""})");
  EXPECT_EQ(message.content_type, "application/json");
  EXPECT_EQ(message.find("order"), "1");
}

TEST(RedisEntry, keeps_everything_on_its_way_to_the_dead_letters) {
  const Message message =
      message_of("7-1", {{"id", "i"}, {"type", "t"}, {"payload", "P"}, {"shop", "s"}}, "");
  const StreamFields fields = fields_of(message, {{"x-onceward-error", "why"}});
  EXPECT_EQ(fields,
            (StreamFields{
                {"id", "i"}, {"type", "t"}, {"payload", "P"}, {"shop", "s"}, {"x-onceward-error", "why"}}));
}

}  // namespace
}  // namespace onceward::messaging
