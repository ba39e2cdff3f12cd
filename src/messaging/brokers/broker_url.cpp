#include "messaging/brokers/broker_url.hpp"

#include <algorithm>
#include <charconv>

#include "base/hex.hpp"

namespace onceward::messaging {
namespace {

Error invalid(std::string message) { return {Errc::invalid, std::move(message)}; }

std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    std::uint8_t byte = 0;
    if (i + 2 >= text.size() || !from_hex(text.substr(i + 1, 2), {&byte, 1})) return std::nullopt;
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), port);
  return wrong == std::errc() && end == text.data() + text.size() && port > 0 && port < 65536;
}

Result<BrokerHost> parse_host(std::string_view text) {
  BrokerHost host;
  std::size_t colon = text.rfind(':');
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return invalid("']' is missing in the address");
    host.host = text.substr(1, end - 1);
    colon = end + 1 < text.size() ? end + 1 : std::string_view::npos;
    if (colon != std::string_view::npos && text[colon] != ':') return invalid("the address is not valid");
  } else {
    host.host = text.substr(0, colon);
  }
  if (colon != std::string_view::npos) host.port = text.substr(colon + 1);
  if (host.host.empty()) return invalid("the address is missing");
  if (colon != std::string_view::npos && !is_port(host.port)) return invalid("the port is not valid");
  return host;
}

Result<Done> parse_user(std::string_view text, BrokerUrl& url) {
  const std::size_t colon = text.find(':');
  std::optional<std::string> user = decoded(text.substr(0, colon));
  std::optional<std::string> password =
      colon == std::string_view::npos ? std::string() : decoded(text.substr(colon + 1));
  if (!user || !password) return invalid("the user or the password is not encoded as it should be");
  url.user = std::move(*user);
  url.password = std::move(*password);
  return Done{};
}

Result<Done> parse_options(std::string_view text, BrokerUrl& url) {
  while (!text.empty()) {
    const std::size_t end = text.find('&');
    const std::string_view pair = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return invalid("option '" + std::string(pair) + "' has no value");
    std::optional<std::string> value = decoded(pair.substr(equals + 1));
    std::string name(pair.substr(0, equals));
    if (!value) return invalid("option '" + name + "' is not encoded as it should be");
    if (url.option(name)) return invalid("option '" + name + "' is given twice");
    url.options.emplace_back(std::move(name), std::move(*value));
  }
  return Done{};
}

}  // namespace

std::optional<std::string> BrokerUrl::option(std::string_view name) const {
  for (const auto& [each, value] : options) {
    if (each == name) return value;
  }
  return std::nullopt;
}

net::ClientTls BrokerUrl::tls() const {
  return {option("ca").value_or(""), option("cert").value_or(""), option("key").value_or(""),
          option("verify") != "false"};
}

Result<Done> BrokerUrl::only(std::initializer_list<std::string_view> known) const {
  for (const auto& [name, value] : options) {
    if (std::ranges::find(known, name) == known.end()) {
      return invalid(scheme + "://: there is no option '" + name + "'");
    }
  }
  return Done{};
}

Result<BrokerUrl> parse_broker_url(std::string_view text) {
  BrokerUrl url;
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return invalid("expected scheme://…");
  url.scheme = text.substr(0, scheme);
  text.remove_prefix(scheme + 3);
  if (const std::size_t query = text.find('?'); query != std::string_view::npos) {
    if (Result<Done> parsed = parse_options(text.substr(query + 1), url); !parsed) return parsed.error();
    text = text.substr(0, query);
  }
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    std::optional<std::string> path = decoded(text.substr(slash + 1));
    if (!path) return invalid("what follows the address is not encoded as it should be");
    url.path = std::move(*path);
    url.has_path = true;
    text = text.substr(0, slash);
  }
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    if (Result<Done> parsed = parse_user(text.substr(0, at), url); !parsed) return parsed.error();
    text.remove_prefix(at + 1);
  }
  for (;;) {
    const std::size_t comma = text.find(',');
    Result<BrokerHost> host = parse_host(text.substr(0, comma));
    if (!host) return host.error();
    url.hosts.push_back(std::move(*host));
    if (comma == std::string_view::npos) return url;
    text.remove_prefix(comma + 1);
  }
}

Result<Duration> duration_option(const BrokerUrl& url, std::string_view name, Duration otherwise) {
  const std::optional<std::string> text = url.option(name);
  if (!text) return otherwise;
  std::uint32_t count = 0;
  const char* end = text->data() + text->size();
  const auto [unit_begin, wrong] = std::from_chars(text->data(), end, count);
  const std::string_view unit(unit_begin, end);
  if (wrong == std::errc() && count > 0) {
    if (unit == "ms") return Duration(count);
    if (unit == "s") return Duration(std::chrono::seconds(count));
    if (unit == "m") return Duration(std::chrono::minutes(count));
    if (unit == "h") return Duration(std::chrono::hours(count));
  }
  return invalid("option '" + std::string(name) + "': expected a duration such as 500ms, 30s, 5m or 1h");
}

}  // namespace onceward::messaging
