#include "stores/redis/redis_url.hpp"

#include <gtest/gtest.h>

namespace onceward::redis {
namespace {

using namespace std::chrono_literals;

RedisUrl must_parse(std::string_view text) {
  const Result<RedisUrl> url = parse_redis_url(text);
  EXPECT_TRUE(url) << text << ": " << (url ? "" : url.error().message);
  return url ? *url : RedisUrl{};
}

TEST(RedisUrl, a_host_is_enough) {
  const RedisUrl url = must_parse("redis://cache");
  EXPECT_EQ(url.topology, Topology::single);
  EXPECT_EQ(url.endpoints, (std::vector<Endpoint>{{"cache", "6379"}}));
  EXPECT_EQ(url.prefix, "onceward:");
  EXPECT_EQ(url.database, 0u);
  EXPECT_FALSE(url.use_tls);
  EXPECT_FALSE(url.credentials.given());
}

TEST(RedisUrl, everything_can_be_said) {
  const RedisUrl url = must_parse(
      "rediss://app:p%40ss%3a@[::1]:7000/3?prefix=shop:&timeout=500ms&connect_timeout=1s&wait_replicas=2"
      "&wait_timeout=250ms&ca=/etc/ca.pem&cert=c.pem&key=k.pem&verify=false");
  EXPECT_TRUE(url.use_tls);
  EXPECT_EQ(url.credentials.user, "app");
  EXPECT_EQ(url.credentials.password, "p@ss:");
  EXPECT_EQ(url.endpoints, (std::vector<Endpoint>{{"::1", "7000"}}));
  EXPECT_EQ(to_string(url.endpoints[0]), "[::1]:7000");
  EXPECT_EQ(url.database, 3u);
  EXPECT_EQ(url.prefix, "shop:");
  EXPECT_EQ(url.timeout, 500ms);
  EXPECT_EQ(url.connect_timeout, 1s);
  EXPECT_EQ(url.wait_replicas, 2u);
  EXPECT_EQ(url.wait_timeout, 250ms);
  EXPECT_EQ(url.tls.ca_file, "/etc/ca.pem");
  EXPECT_FALSE(url.tls.verify);
}

TEST(RedisUrl, a_password_needs_no_user) {
  EXPECT_EQ(must_parse("redis://:secret@h").credentials.password, "secret");
  EXPECT_EQ(must_parse("redis://:secret@h").credentials.user, "");
}

TEST(RedisUrl, a_sentinel_has_a_master_and_a_cluster_several_seeds) {
  const RedisUrl sentinel = must_parse("redis+sentinel://:pw@a,b:5000/mymaster/2?sentinel_password=s");
  EXPECT_EQ(sentinel.topology, Topology::sentinel);
  EXPECT_EQ(sentinel.endpoints, (std::vector<Endpoint>{{"a", "26379"}, {"b", "5000"}}));
  EXPECT_EQ(sentinel.master_name, "mymaster");
  EXPECT_EQ(sentinel.database, 2u);
  EXPECT_EQ(sentinel.sentinel_credentials.password, "s");
  const RedisUrl cluster = must_parse("redis+cluster://a:1,b:2,c?tls=true");
  EXPECT_EQ(cluster.topology, Topology::cluster);
  EXPECT_EQ(cluster.endpoints.size(), 3u);
  EXPECT_TRUE(cluster.use_tls);
}

TEST(RedisUrl, what_is_wrong_is_named_and_the_password_is_not) {
  struct Case {
    const char* url;
    const char* says;
  };
  const Case cases[] = {
      {"redis://u:hunter2@", "host"},
      {"redis://u:hunter2@h:0", "port"},
      {"redis://u:hunter2@h:x", "port"},
      {"redis://u:hunter2@h:70000", "port"},
      {"redis://u:hunter2@h/x", "database"},
      {"redis://u:hunter2@h,i", "one server"},
      {"redis://u:hunter2%@h", "%"},
      {"redis://hunter2@h", "password"},
      {"redis://u:hunter2@h?prefix=", "prefix"},
      {"redis://u:hunter2@h?prefix=a%7bb", "prefix"},
      {"redis://u:hunter2@h?timeout=0s", "timeout"},
      {"redis://u:hunter2@h?timeout=5", "timeout"},
      {"redis://u:hunter2@h?wait_replicas=-1", "wait_replicas"},
      {"redis://u:hunter2@h?evict=yes", "evict"},
      {"redis+sentinel://u:hunter2@h", "name"},
      {"redis+cluster://u:hunter2@h/1", "cluster"},
      {"http://u:hunter2@h", "redis"},
  };
  for (const Case& c : cases) {
    const Result<RedisUrl> url = parse_redis_url(c.url);
    ASSERT_FALSE(url) << c.url;
    EXPECT_EQ(url.error().code, Errc::invalid);
    EXPECT_NE(url.error().message.find(c.says), std::string::npos) << c.url << ": " << url.error().message;
    EXPECT_EQ(url.error().message.find("hunter2"), std::string::npos) << url.error().message;
  }
}

}  // namespace
}  // namespace onceward::redis
