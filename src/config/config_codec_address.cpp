// Codecs of values that name something elsewhere: addresses, URLs, stores, identities, requests.
#include <arpa/inet.h>

#include <charconv>

#include "config/config_codec.hpp"
#include "config/config_spelling.hpp"
#include "proxy/routes.hpp"

namespace onceward::config {
namespace {

std::string found(const YamlNode& node) { return ", found '" + node.text + "'"; }

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

bool is_host(std::string_view host) {
  constexpr std::string_view name = "-._0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  return !host.empty() && host.size() <= 253 && host.find_first_not_of(name) == std::string_view::npos;
}

bool is_ipv6(std::string_view host) {
  constexpr std::string_view characters = "0123456789abcdefABCDEF:.%";
  return host.find(':') != std::string_view::npos &&
         host.find_first_not_of(characters) == std::string_view::npos;
}

bool parse_port(std::string_view text, std::uint16_t& out) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

// host, host:port or [address]:port; what is wrong, or nothing.
std::string parse_authority(std::string_view text, std::string& host, std::optional<std::uint16_t>& port) {
  std::string_view port_text;
  bool has_port = false;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return "the IPv6 address lacks its ']'";
    host = text.substr(1, close - 1);
    if (!is_ipv6(host)) return "not an IPv6 address: '" + host + "'";
    const std::string_view rest = text.substr(close + 1);
    has_port = rest.starts_with(':');
    if (!has_port && !rest.empty()) return "expected ':' and a port after ']'";
    port_text = has_port ? rest.substr(1) : rest;
  } else {
    const std::size_t colon = text.find(':');
    if (colon != text.rfind(':')) return "an IPv6 address is written in brackets, such as [::1]:8080";
    has_port = colon != std::string_view::npos;
    host = text.substr(0, colon);
    if (host.empty()) return "the host is missing (0.0.0.0 stands for every address)";
    if (!is_host(host)) return "not a host name or address: '" + host + "'";
    if (has_port) port_text = text.substr(colon + 1);
  }
  std::uint16_t number = 0;
  if (has_port && !parse_port(port_text, number)) return "not a port: '" + std::string(port_text) + "'";
  if (has_port) port = number;
  return {};
}

// `text` = method, space, the rest. False when there is no method.
bool split_method(std::string_view text, std::string& method, std::string_view& rest) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return false;
  method = text.substr(0, space);
  rest = text.substr(space + 1);
  return !method.empty() && std::ranges::all_of(method, [](char c) { return c >= 'A' && c <= 'Z'; });
}

std::string parse_http_url(std::string_view text, bool target_allowed, HttpUrl& out) {
  HttpUrl url;
  url.tls = text.starts_with("https://");
  if (!url.tls && !text.starts_with("http://"))
    return "expected http://HOST:PORT or https://HOST:PORT, found '" + std::string(text) + "'";
  if (!is_visible(text)) return "the URL may not contain spaces or bytes outside ASCII";
  const std::string_view rest = text.substr(url.tls ? 8 : 7);
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  const std::string_view authority = rest.substr(0, end);
  url.target = rest.substr(end);
  if (authority.find('@') != std::string_view::npos) return "the URL may not contain a user or a password";
  if (url.target.find('#') != std::string::npos) return "the URL may not contain a fragment";
  if (!target_allowed && url.target == "/") url.target.clear();
  if (!target_allowed && !url.target.empty())
    return "the URL may not contain a path or a query: requests keep their own";
  std::optional<std::uint16_t> port;
  if (std::string wrong = parse_authority(authority, url.host, port); !wrong.empty()) return wrong;
  url.port = port.value_or(url.tls ? 443 : 80);
  if (url.port == 0) return "port 0 cannot be connected to";
  out = std::move(url);
  return {};
}

}  // namespace

std::string Address::text() const {
  const bool bracket = host.find(':') != std::string::npos;
  return (bracket ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool Address::is_loopback() const {
  if (host == "localhost" || host == "::1") return true;
  in_addr v4{};  // 127.0.0.1.example.org is somebody else's name
  return host.starts_with("127.") && ::inet_pton(AF_INET, host.c_str(), &v4) == 1;
}

std::string AddressCodec::read(const YamlNode& node, Address& out) const {
  Address address;
  std::optional<std::uint16_t> port;
  if (std::string wrong = parse_authority(node.text, address.host, port); !wrong.empty()) return wrong;
  if (!port) return "expected HOST:PORT, such as 127.0.0.1:8080" + found(node);
  address.port = *port;
  out = std::move(address);
  return {};
}
YamlNode AddressCodec::write(const Address& value) const { return YamlNode::string(value.text()); }

std::string HttpUrlCodec::read(const YamlNode& node, HttpUrl& out) const {
  return parse_http_url(node.text, target, out);
}
YamlNode HttpUrlCodec::write(const HttpUrl& value) const {
  return YamlNode::string(value.origin() + value.target);
}

std::string UriCodec::read(const YamlNode& node, std::string& out) const {
  const auto scheme = std::ranges::find_if(
      schemes, [&](std::string_view s) { return node.text.starts_with(std::string(s) + "://"); });
  if (scheme == schemes.end()) {
    std::vector<std::string> texts;
    for (std::string_view s : schemes) texts.push_back(std::string(s) + "://");
    const std::vector<std::string_view> words(texts.begin(), texts.end());
    return expected_one_of(words, node.text);
  }
  if (node.text.size() == scheme->size() + 3) return "the address is missing after '" + node.text + "'";
  if (!is_visible(node.text)) return "the address may not contain spaces or bytes outside ASCII";
  out = node.text;
  return {};
}

std::string StoreCodec::read(const YamlNode& node, StoreUri& out) const {
  const std::string& text = node.text;
  if (!cache && text == "memory") {
    out = {StoreKind::memory, text};
    return {};
  }
  if (!cache && text.starts_with("file:")) {
    if (text.size() == 5) return "the folder is missing after 'file:'";
    out = {StoreKind::file, text};
    return {};
  }
  static constexpr std::string_view redis[] = {"redis", "rediss", "redis+sentinel", "redis+cluster"};
  static constexpr std::string_view postgres[] = {"postgres", "postgresql"};
  const std::size_t scheme_end = text.find("://");
  const std::string_view scheme = std::string_view(text).substr(0, scheme_end);
  const bool is_redis = std::ranges::find(redis, scheme) != std::end(redis);
  const bool is_postgres = std::ranges::find(postgres, scheme) != std::end(postgres);
  if (scheme_end == std::string::npos || !(is_redis || (is_postgres && !cache))) {
    return cache ? "expected redis://… (or rediss, redis+sentinel, redis+cluster)" + found(node)
                 : "expected memory, file:DIR, redis://… (or rediss, redis+sentinel, redis+cluster) or "
                   "postgres://…" +
                       found(node);
  }
  if (text.size() == scheme_end + 3) return "the address is missing after '" + text + "'";
  if (!is_visible(text)) return "the address may not contain spaces or bytes outside ASCII";
  out = {is_redis ? StoreKind::redis : StoreKind::postgres, text};
  return {};
}

std::string IdentityCodec::read(const YamlNode& node, IdentityFrom& out) const {
  const std::string_view text = node.text;
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  const std::string_view argument = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const bool bare = colon == std::string_view::npos;
  if (bare && text == "none") {
    out = {IdentitySource::none, ""};
  } else if (bare && !tenant && text == "authorization") {
    out = {IdentitySource::authorization, ""};
  } else if (bare && !tenant && text == "certificate") {
    out = {IdentitySource::certificate, ""};
  } else if (!bare && (word == "header" || (word == "cookie" && !tenant))) {
    if (!is_header_name(argument)) return "a name is missing or not valid after '" + std::string(word) + ":'";
    out = {word == "header" ? IdentitySource::header : IdentitySource::cookie, std::string(argument)};
  } else if (!bare && word == "jwt") {
    if (std::string wrong = check_pointer(argument); !wrong.empty()) return wrong;
    out = {IdentitySource::jwt, std::string(argument)};
  } else {
    return (tenant ? "expected header:NAME, jwt:/pointer or none"
                   : "expected authorization, jwt:/pointer, header:NAME, cookie:NAME, certificate or none") +
           found(node);
  }
  return {};
}

YamlNode IdentityCodec::write(const IdentityFrom& value) const {
  switch (value.source) {
    case IdentitySource::none:
      return YamlNode::string("none");
    case IdentitySource::authorization:
      return YamlNode::string("authorization");
    case IdentitySource::certificate:
      return YamlNode::string("certificate");
    case IdentitySource::header:
      return YamlNode::string("header:" + value.argument);
    case IdentitySource::cookie:
      return YamlNode::string("cookie:" + value.argument);
    case IdentitySource::jwt:
      return YamlNode::string("jwt:" + value.argument);
  }
  return {};
}

std::string MatchCodec::read(const YamlNode& node, std::string& out) const {
  if (Result<RoutePattern> pattern = RoutePattern::parse(node.text); !pattern)
    return pattern.error().message + found(node);
  out = node.text;
  return {};
}

std::string RequestLineCodec::read(const YamlNode& node, RequestLine& out) const {
  RequestLine line;
  std::string_view target;
  if (!split_method(node.text, line.method, target) || !target.starts_with('/'))
    return "expected METHOD /path, such as GET /payments/{operation_id}" + found(node);
  if (!is_visible(target)) return "the path may not contain spaces or bytes outside ASCII";
  bool open = false;
  for (char c : target) {
    if ((c == '{' && open) || (c == '}' && !open)) return "the braces do not match" + found(node);
    if (c == '{') open = true;
    if (c == '}') open = false;
  }
  if (open) return "the braces do not match" + found(node);
  line.target = target;
  out = std::move(line);
  return {};
}
YamlNode RequestLineCodec::write(const RequestLine& value) const {
  return YamlNode::string(value.method + " " + value.target);
}

std::string ConsumerTargetCodec::read(const YamlNode& node, ConsumerTarget& out) const {
  ConsumerTarget target;
  std::string_view url;
  if (!split_method(node.text, target.method, url))
    return "expected METHOD URL, such as POST http://127.0.0.1:9000/handle" + found(node);
  if (std::string wrong = parse_http_url(url, true, target.url); !wrong.empty()) return wrong;
  out = std::move(target);
  return {};
}
YamlNode ConsumerTargetCodec::write(const ConsumerTarget& value) const {
  return YamlNode::string(value.method + " " + value.url.origin() + value.url.target);
}

std::string MessageIdCodec::read(const YamlNode& node, std::string& out) const {
  const std::string_view text = node.text;
  if (text.starts_with("json:")) {
    if (std::string wrong = check_pointer(text.substr(5)); !wrong.empty()) return wrong;
  } else if (text.starts_with("header:")) {
    if (!is_header_name(text.substr(7))) return "a name is missing or not valid after 'header:'";
  } else if (text != "message-id" && text != "content") {
    return "expected message-id, header:NAME, json:/pointer or content" + found(node);
  }
  out = node.text;
  return {};
}

}  // namespace onceward::config
