#include "net/socket_options.hpp"

#include <netinet/tcp.h>

#include <string_view>

namespace onceward::net {
namespace {

// Without options of its own, always there.
constexpr std::string_view plainest_control = "reno";

}  // namespace

bool is_loopback(const SocketAddress& address) {
  if (address.family() == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address.storage);
    return (ntohl(in.sin_addr.s_addr) >> 24) == 127;
  }
  if (address.family() != AF_INET6) return false;
  const in6_addr& in6 = reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&in6) || (IN6_IS_ADDR_V4MAPPED(&in6) && in6.s6_addr[12] == 127);
}

// Only wishes: where one is refused the connection works the same.
void set_connection_options(int fd, const SocketAddress& peer) {
  if (peer.family() == AF_UNIX) return;
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (is_loopback(peer))
    ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, plainest_control.data(), plainest_control.size());
}

}  // namespace onceward::net
