#include "api/browser_guard.hpp"

#include <arpa/inet.h>

#include <string>

namespace onceward {
namespace {

std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) {
    const std::size_t close = host.find(']');
    return close == host.npos ? std::string_view() : host.substr(1, close - 1);
  }
  return host.substr(0, host.find(':'));
}

bool is_address(std::string_view host) {
  const std::string text(host);
  in6_addr scratch;
  return inet_pton(AF_INET, text.c_str(), &scratch) == 1 || inet_pton(AF_INET6, text.c_str(), &scratch) == 1;
}

}  // namespace

bool is_own_host(std::string_view host, std::string_view listen_host) {
  if (host.empty()) return true;
  const std::string_view name = without_port(host);
  return is_address(name) || http::same_name(name, "localhost") ||
         (!name.empty() && http::same_name(name, listen_host));
}

bool is_own_origin(const http::RequestHead& request, bool tls) {
  if (request.headers.count("Origin") == 0) return true;
  if (request.headers.count("Origin") > 1) return false;
  std::string_view origin = *request.headers.find("Origin");
  const std::string_view scheme = tls ? "https://" : "http://";
  if (!origin.starts_with(scheme)) return false;
  origin.remove_prefix(scheme.size());
  return !request.host.empty() && http::same_name(origin, request.host);
}

}  // namespace onceward
