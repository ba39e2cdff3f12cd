#include "http/address.hpp"

#include <arpa/inet.h>
#include <netdb.h>

#include <array>
#include <cstring>
#include <memory>

#include "http/chars.hpp"
#include "http/head.hpp"

namespace onceward::http {
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

Result<Url> parse_url(std::string_view text) {
  Url url;
  std::string_view rest = text;
  if (rest.size() > 8 && same_name(rest.substr(0, 8), "https://")) {
    url.tls = true;
    rest.remove_prefix(8);
  } else if (rest.size() > 7 && same_name(rest.substr(0, 7), "http://")) {
    rest.remove_prefix(7);
  } else {
    return invalid(text, "not an http or https URL");
  }
  const std::size_t slash = rest.find('/');
  url.authority = rest.substr(0, slash);
  if (slash != rest.npos) url.base_path = rest.substr(slash);
  while (url.base_path.ends_with('/')) url.base_path.pop_back();
  for (char c : url.base_path)
    if (!is_target_char(c) || c == '?') return invalid(text, "not a valid path");
  for (char c : url.authority)
    if (!is_host_char(c)) return invalid(text, "not a valid host");

  const bool has_port = url.authority.rfind(':') != std::string::npos && !url.authority.ends_with(']');
  const auto parsed = parse_host_port(has_port ? url.authority : url.authority + (url.tls ? ":443" : ":80"));
  if (!parsed || parsed->host.empty()) return invalid(text, "not a valid host");
  url.host = parsed->host;
  url.port = parsed->port;
  return url;
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

std::string address_text(const SocketAddress& address) {
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
  const std::string host = address_text(address);
  const std::string port = std::to_string(port_of(address));
  return address.family() == AF_INET6 && host.find(':') != std::string::npos ? "[" + host + "]:" + port
                                                                             : host + ":" + port;
}

}  // namespace onceward::http
