#include "http/url.hpp"

#include "http/chars.hpp"
#include "http/head.hpp"
#include "net/address.hpp"

namespace onceward::http {
namespace {

Error invalid(std::string_view text, std::string_view why) {
  return {Errc::invalid, std::string(text) + ": " + std::string(why)};
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  Url url;
  std::string_view rest = text;
  if (rest.starts_with(net::unix_prefix)) {
    url.socket = rest.substr(net::unix_prefix.size());
    const Result<net::SocketAddress> address = net::unix_address(url.socket);
    if (!address) return address.error();
    url.host = url.authority = "localhost";
    url.port = "80";
    return url;
  }
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
  const auto parsed =
      net::parse_host_port(has_port ? url.authority : url.authority + (url.tls ? ":443" : ":80"));
  if (!parsed || parsed->host.empty()) return invalid(text, "not a valid host");
  url.host = parsed->host;
  url.port = parsed->port;
  return url;
}

}  // namespace onceward::http
