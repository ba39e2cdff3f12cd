#include "net/socket_options.hpp"

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <array>

namespace onceward::net {
namespace {

SocketAddress address(const char* host) { return resolve_address(host, "80", false)->front(); }

TEST(SocketOptions, KnowWhatStaysWithinTheMachine) {
  for (const char* host : {"127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1"})
    EXPECT_TRUE(is_loopback(address(host))) << host;
  for (const char* host : {"128.0.0.1", "10.0.0.1", "::2", "::ffff:10.0.0.1", "fe80::1"})
    EXPECT_FALSE(is_loopback(address(host))) << host;
  EXPECT_FALSE(is_loopback(*unix_address("/tmp/x")));
}

std::string congestion_control(int fd) {
  std::array<char, 16> name{};
  socklen_t bytes = name.size();
  EXPECT_EQ(::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), &bytes), 0);
  return name.data();
}

TEST(SocketOptions, LeaveTheSystemsCongestionControlToConnectionsThatLeaveTheMachine) {
  for (const char* host : {"127.0.0.1", "10.0.0.1"}) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    const std::string before = congestion_control(fd);
    set_connection_options(fd, address(host));
    int without_delay = 0;
    socklen_t bytes = sizeof without_delay;
    EXPECT_EQ(::getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &without_delay, &bytes), 0);
    EXPECT_NE(without_delay, 0);
    EXPECT_EQ(congestion_control(fd), is_loopback(address(host)) ? "reno" : before) << host;
    ::close(fd);
  }
}

}  // namespace
}  // namespace onceward::net
