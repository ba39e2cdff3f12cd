#include "net/address.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/un.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>

namespace onceward::net {
namespace {

Error invalid(std::string_view text, std::string_view why) {
  return {Errc::invalid, std::string(text) + ": " + std::string(why)};
}

bool valid_port(std::string_view port) {
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != port.npos) return false;
  return std::stoi(std::string(port)) <= 65535;
}

std::uint16_t port_of(const SocketAddress& address) {
  if (address.family() == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port);
}

}  // namespace

Result<HostPort> parse_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return invalid(text, "an address is host:port");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (!valid_port(port)) return invalid(text, "not a valid port");
  if (host.starts_with('[') != host.ends_with(']')) return invalid(text, "unbalanced brackets");
  if (host.starts_with('['))
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != host.npos)
    return invalid(text, "an IPv6 address needs brackets");
  return HostPort{std::string(host), std::string(port)};
}

Result<std::vector<SocketAddress>> resolve_address(const std::string& host, const std::string& port,
                                                   bool passive) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
  addrinfo* list = nullptr;
  const int failed = getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &list);
  if (failed) return Error{Errc::unavailable, host + ": " + gai_strerror(failed)};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list, freeaddrinfo);
  std::vector<SocketAddress> found;
  for (const addrinfo* entry = list; entry; entry = entry->ai_next) {
    SocketAddress address;
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.bytes = entry->ai_addrlen;
    found.push_back(address);
  }
  return found;
}

Result<SocketAddress> unix_address(std::string_view path) {
  SocketAddress address;
  auto& un = reinterpret_cast<sockaddr_un&>(address.storage);
  if (path.empty() || path.size() >= sizeof un.sun_path)
    return invalid(path,
                   "the path of a socket has 1 to " + std::to_string(sizeof un.sun_path - 1) + " bytes");
  un.sun_family = AF_UNIX;
  path.copy(un.sun_path, path.size());
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return address;
}

std::string address_text(const SocketAddress& address) {
  if (address.family() == AF_UNIX) return "unix";
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* raw = nullptr;
  if (address.family() == AF_INET6)
    raw = &reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_addr;
  else
    raw = &reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_addr;
  if (!inet_ntop(address.family(), raw, text.data(), text.size())) return {};
  // A client of a dual-stack listener is known by its IPv4 address.
  const std::string_view found = text.data();
  return std::string(found.starts_with("::ffff:") ? found.substr(7) : found);
}

std::string host_port_text(const SocketAddress& address) {
  if (address.family() == AF_UNIX)
    return std::string(unix_prefix) + reinterpret_cast<const sockaddr_un*>(&address.storage)->sun_path;
  const std::string host = address_text(address);
  const std::string port = std::to_string(port_of(address));
  return address.family() == AF_INET6 && host.find(':') != std::string::npos ? "[" + host + "]:" + port
                                                                             : host + ":" + port;
}

}  // namespace onceward::net
