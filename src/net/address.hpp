// Addresses of sockets: written, taken apart and looked up. Pure, except resolve_address.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "onceward/result.hpp"

namespace onceward::net {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

struct HostPort {
  std::string host;  // without brackets
  std::string port;
};

Result<HostPort> parse_host_port(std::string_view text);

// Blocks (getaddrinfo): at start-up, or on a resolver's thread.
Result<std::vector<SocketAddress>> resolve_address(const std::string& host, const std::string& port,
                                                   bool passive);

// "unix:/path": a socket in the file system.
inline constexpr std::string_view unix_prefix = "unix:";
Result<SocketAddress> unix_address(std::string_view path);

std::string address_text(const SocketAddress& address);    // without the port; "unix"
std::string host_port_text(const SocketAddress& address);  // "127.0.0.1:80", "[::1]:80", "unix:/path"

}  // namespace onceward::net
