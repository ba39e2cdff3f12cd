#include "stores/postgres/url.hpp"

#include <gtest/gtest.h>

namespace onceward::postgres {
namespace {

using namespace std::chrono_literals;

TEST(PostgresUrl, is_libpqs_with_what_a_store_needs_by_default) {
  const Result<PostgresUrl> url =
      parse_postgres_url("postgres://me:secret@db1,db2:5433/app?sslmode=verify-full");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->server.get("host"), "db1,db2");
  EXPECT_EQ(url->server.get("password"), "secret");
  EXPECT_EQ(url->server.get("dbname"), "app");
  EXPECT_EQ(url->server.get("sslmode"), "verify-full");
  EXPECT_EQ(url->server.get("target_session_attrs"), "read-write");
  EXPECT_EQ(url->connections, 8u);
  EXPECT_EQ(url->timeout, 5s);
  EXPECT_TRUE(url->migrate);
  EXPECT_TRUE(url->listen);
  EXPECT_FALSE(url->has_own_listener);
}

TEST(PostgresUrl, takes_its_own_options_out_before_libpq_sees_them) {
  const Result<PostgresUrl> url = parse_postgres_url(
      "postgresql://h/"
      "d?connections=9&sslmode=require&timeout=250ms&migrate=off&listen=off&connect_timeout=2s");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->connections, 9u);
  EXPECT_EQ(url->timeout, 250ms);
  EXPECT_EQ(url->connect_timeout, 2s);
  EXPECT_FALSE(url->migrate);
  EXPECT_FALSE(url->listen);
  EXPECT_EQ(url->server.get("sslmode"), "require");
  EXPECT_EQ(url->server.get("connect_timeout"), "");
}

TEST(PostgresUrl, can_name_another_server_to_listen_on) {
  const Result<PostgresUrl> url = parse_postgres_url(
      "postgres://pooler:6432/d?listen_url=postgres%3A%2F%2Fdirect%3A5432%2Fd%3Fsslmode%3Ddisable");
  ASSERT_TRUE(url);
  EXPECT_TRUE(url->has_own_listener);
  EXPECT_EQ(url->listener.get("host"), "direct");
  EXPECT_EQ(url->listener.get("sslmode"), "disable");
  EXPECT_EQ(url->server.get("host"), "pooler");
}

TEST(PostgresUrl, is_shown_without_its_password) {
  EXPECT_EQ(parse_postgres_url("postgres://me:secret@h:1/d?password=other")->shown, "postgres://me@h:1/d");
}

TEST(PostgresUrl, mistakes_are_named_and_never_show_the_password) {
  for (const char* options :
       {"connections=0", "connections=x", "connections=101", "timeout=5", "timeout=0s", "timeout=-1s",
        "timeout=9999s", "migrate=yes", "listen=", "unknown=1", "=", "listen_url=nonsense"}) {
    const Result<PostgresUrl> url = parse_postgres_url(std::string("postgres://me:secret@h/d?") + options);
    ASSERT_FALSE(url) << options;
    EXPECT_EQ(url.error().code, Errc::invalid);
    EXPECT_EQ(url.error().message.find("secret"), std::string::npos) << url.error().message;
  }
}

}  // namespace
}  // namespace onceward::postgres
