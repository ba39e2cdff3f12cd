#include "api/browser_guard.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

TEST(BrowserGuard, KnowsItsOwnNames) {
  for (const char* host : {"127.0.0.1", "127.0.0.1:9180", "localhost", "LOCALHOST:1", "[::1]:9180", "[::1]",
                           "", "10.1.2.3:9180", "api.internal", "API.internal:443"})
    EXPECT_TRUE(is_own_host(host, "api.internal")) << host;
  for (const char* host :
       {"evil.example", "evil.example:9180", "127.0.0.1.evil.example", "localhost.evil.example", "[evil]",
        "[::1", ":80", "1", "0x7f.1", "127.1", "api.internal.evil.example"})
    EXPECT_FALSE(is_own_host(host, "api.internal")) << host;
  EXPECT_FALSE(is_own_host(":1", "")) << "no name is not the empty name";
}

TEST(BrowserGuard, LetsOnlyItsOwnPagesAsk) {
  const auto allowed = [](const char* origin, const char* host, bool tls) {
    http::RequestHead head;
    head.host = host;
    if (origin) head.headers.add("Origin", origin);
    return is_own_origin(head, tls);
  };
  EXPECT_TRUE(allowed(nullptr, "127.0.0.1:9180", false));
  EXPECT_TRUE(allowed("http://127.0.0.1:9180", "127.0.0.1:9180", false));
  EXPECT_TRUE(allowed("https://api.internal", "api.internal", true));
  for (const char* origin : {"http://evil.example", "null", "", "http://127.0.0.1:9181",
                             "https://127.0.0.1:9180", "http://127.0.0.1:9180.evil.example", "http://"})
    EXPECT_FALSE(allowed(origin, "127.0.0.1:9180", false)) << origin;
  EXPECT_FALSE(allowed("http://", "", false));
  http::RequestHead twice;
  twice.host = "a";
  twice.headers.add("Origin", "http://a");
  twice.headers.add("Origin", "http://a");
  EXPECT_FALSE(is_own_origin(twice, false));
}

}  // namespace
}  // namespace onceward
