#include "http/url.hpp"

#include <gtest/gtest.h>

namespace onceward::http {
namespace {

TEST(Url, UrlsAreTakenApart) {
  struct Case {
    const char* text;
    bool good;
    bool tls = false;
    const char* host = "";
    const char* port = "";
    const char* authority = "";
    const char* base = "";
  };
  const Case cases[] = {
      {"http://h", true, false, "h", "80", "h", ""},
      {"https://h/", true, true, "h", "443", "h", ""},
      {"http://h:9000/a/b/", true, false, "h", "9000", "h:9000", "/a/b"},
      {"http://[::1]:9", true, false, "::1", "9", "[::1]:9", ""},
      {"http://[::1]", true, false, "::1", "80", "[::1]", ""},
      {"ftp://h", false},
      {"h:80", false},
      {"http://", false},
      {"http://:80", false},
      {"http://u@h", false},
      {"http://h/a?b", false},
  };
  for (const Case& c : cases) {
    const auto url = parse_url(c.text);
    ASSERT_EQ(url.has_value(), c.good) << c.text;
    if (!c.good) continue;
    EXPECT_EQ(url->tls, c.tls) << c.text;
    EXPECT_EQ(url->host, c.host) << c.text;
    EXPECT_EQ(url->port, c.port) << c.text;
    EXPECT_EQ(url->authority, c.authority) << c.text;
    EXPECT_EQ(url->base_path, c.base) << c.text;
  }
}

}  // namespace
}  // namespace onceward::http
