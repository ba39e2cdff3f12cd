#include "http/address.hpp"

#include <gtest/gtest.h>

namespace onceward::http {
namespace {

TEST(Address, HostsAndPortsAreTakenApart) {
  struct Case {
    const char* text;
    bool good;
    const char* host = "";
    const char* port = "";
  };
  const Case cases[] = {
      {"127.0.0.1:80", true, "127.0.0.1", "80"},
      {"[::1]:80", true, "::1", "80"},
      {":8080", true, "", "8080"},
      {"localhost:0", true, "localhost", "0"},
      {"localhost", false},
      {"::1:80", false},
      {"[::1:80", false},
      {"h:", false},
      {"h:65536", false},
      {"h:8x", false},
  };
  for (const Case& c : cases) {
    const auto parsed = parse_host_port(c.text);
    ASSERT_EQ(parsed.has_value(), c.good) << c.text;
    if (!c.good) continue;
    EXPECT_EQ(parsed->host, c.host) << c.text;
    EXPECT_EQ(parsed->port, c.port) << c.text;
  }
}

TEST(Address, UrlsAreTakenApart) {
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
