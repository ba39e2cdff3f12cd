// Addresses to listen on and URLs of upstreams, taken apart. Pure, except resolve_address.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "onceward/result.hpp"

namespace onceward::http {

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

struct Url {
  bool tls = false;
  std::string host;       // without brackets
  std::string port;       // always set
  std::string authority;  // as written: what a Host header says
  std::string base_path;  // "" or "/base", without a slash at the end
};

Result<HostPort> parse_host_port(std::string_view text);
Result<Url> parse_url(std::string_view text);

// Blocks (getaddrinfo): at start-up, or on a resolver's thread.
Result<std::vector<SocketAddress>> resolve_address(const std::string& host, const std::string& port,
                                                   bool passive);

std::string address_text(const SocketAddress& address);    // without the port
std::string host_port_text(const SocketAddress& address);  // "127.0.0.1:80", "[::1]:80"

}  // namespace onceward::http
