#include "messaging/brokers/broker_url.hpp"

#include <gtest/gtest.h>

namespace onceward::messaging {
namespace {

TEST(BrokerUrl, takes_every_part_of_an_address) {
  const Result<BrokerUrl> url =
      parse_broker_url("amqps://me:p%40ss@broker:5671/my%2Fhost?queue=orders&ca=/a/b.pem");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->scheme, "amqps");
  EXPECT_EQ(url->user, "me");
  EXPECT_EQ(url->password, "p@ss");
  EXPECT_EQ(url->hosts, (std::vector<BrokerHost>{{"broker", "5671"}}));
  EXPECT_EQ(url->path, "my/host");
  EXPECT_EQ(url->option("queue"), "orders");
  EXPECT_EQ(url->tls().ca_file, "/a/b.pem");
  EXPECT_TRUE(url->tls().verify);
}

TEST(BrokerUrl, takes_several_hosts_and_ipv6) {
  const Result<BrokerUrl> url = parse_broker_url("kafka://a:1,[::1]:2,c/topic");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->hosts, (std::vector<BrokerHost>{{"a", "1"}, {"::1", "2"}, {"c", ""}}));
  EXPECT_EQ(url->path, "topic");
}

TEST(BrokerUrl, tells_an_empty_path_from_none) {
  EXPECT_FALSE(parse_broker_url("amqp://h")->has_path);
  EXPECT_TRUE(parse_broker_url("amqp://h/")->has_path);
}

struct Wrong {
  const char* url;
  const char* message;
};
class WrongBrokerUrl : public testing::TestWithParam<Wrong> {};

TEST_P(WrongBrokerUrl, is_refused_and_says_why_without_the_password) {
  const Result<BrokerUrl> url = parse_broker_url(GetParam().url);
  ASSERT_FALSE(url);
  EXPECT_EQ(url.error().code, Errc::invalid);
  EXPECT_EQ(url.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, WrongBrokerUrl,
    testing::Values(Wrong{"rabbit", "expected scheme://…"}, Wrong{"amqp://", "the address is missing"},
                    Wrong{"amqp://:5672", "the address is missing"},
                    Wrong{"amqp://u:secret@h:x", "the port is not valid"},
                    Wrong{"amqp://h:0", "the port is not valid"},
                    Wrong{"amqp://h:65536", "the port is not valid"},
                    Wrong{"amqp://[::1", "']' is missing in the address"},
                    Wrong{"amqp://[::1]x", "the address is not valid"},
                    Wrong{"amqp://u:se%cret@h", "the user or the password is not encoded as it should be"},
                    Wrong{"amqp://h/%4", "what follows the address is not encoded as it should be"},
                    Wrong{"amqp://h?queue", "option 'queue' has no value"},
                    Wrong{"amqp://h?queue=%", "option 'queue' is not encoded as it should be"},
                    Wrong{"amqp://h?queue=a&queue=b", "option 'queue' is given twice"},
                    Wrong{"kafka://a,,b", "the address is missing"}));

TEST(BrokerUrl, names_an_option_that_nobody_knows) {
  const Result<BrokerUrl> url = parse_broker_url("amqp://h?queue=a&que=b");
  EXPECT_TRUE(url->only({"queue", "que"}));
  EXPECT_EQ(url->only({"queue"}).error().message, "amqp://: there is no option 'que'");
}

TEST(BrokerUrl, reads_durations) {
  const BrokerUrl url = *parse_broker_url("redis://h?a=500ms&b=30s&c=5m&d=1h&e=5&f=s&g=0s");
  EXPECT_EQ(*duration_option(url, "a", {}), Duration(500));
  EXPECT_EQ(*duration_option(url, "b", {}), Duration(30'000));
  EXPECT_EQ(*duration_option(url, "c", {}), Duration(300'000));
  EXPECT_EQ(*duration_option(url, "d", {}), Duration(3'600'000));
  EXPECT_EQ(*duration_option(url, "z", Duration(7)), Duration(7));
  for (const char* name : {"e", "f", "g"}) EXPECT_FALSE(duration_option(url, name, {})) << name;
}

}  // namespace
}  // namespace onceward::messaging
