#include "net/address.hpp"

#include <gtest/gtest.h>

namespace onceward::net {
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

TEST(Address, ASocketInTheFileSystemHasAPathThatFits) {
  const auto address = unix_address("/run/onceward.sock");
  ASSERT_TRUE(address);
  EXPECT_EQ(host_port_text(*address), "unix:/run/onceward.sock");
  EXPECT_EQ(address_text(*address), "unix");
  EXPECT_TRUE(unix_address(std::string(107, 'p')));
  EXPECT_FALSE(unix_address(std::string(108, 'p')));
  EXPECT_FALSE(unix_address(""));
}

}  // namespace
}  // namespace onceward::net
