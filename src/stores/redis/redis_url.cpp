#include "stores/redis/redis_url.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace onceward::redis {
namespace {

Error invalid(std::string why) { return {Errc::invalid, "store: " + std::move(why)}; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_digit(text[i + 1]);
    const int low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

// The part before the separator; the rest stays in `text`, without it.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view taken = text.substr(0, at);
  text = at == text.npos ? std::string_view() : text.substr(at + 1);
  return taken;
}

bool read_number(std::string_view text, unsigned& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

bool read_duration(std::string_view text, Duration& out) {
  static constexpr std::array<std::pair<std::string_view, unsigned>, 3> units{
      {{"ms", 1}, {"s", 1000}, {"m", 60'000}}};
  for (const auto& [unit, ms] : units) {
    unsigned count = 0;
    if (!text.ends_with(unit) || !read_number(text.substr(0, text.size() - unit.size()), count)) continue;
    if (count == 0 || count > 3'600'000 / ms) return false;
    out = Duration(std::uint64_t{count} * ms);
    return true;
  }
  return false;
}

bool read_yes(std::string_view text, bool& out) {
  if (text != "true" && text != "false") return false;
  out = text == "true";
  return true;
}

Result<Endpoint> parse_endpoint(std::string_view text, std::string_view default_port) {
  std::string_view host = text;
  std::string_view port = default_port;
  const std::size_t close = text.rfind(']');
  const std::size_t colon = text.find(':', close == text.npos ? 0 : close);
  if (colon != text.npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  unsigned number = 0;
  if (!read_number(port, number) || number == 0 || number > 65535)
    return invalid("not a port in '" + std::string(text) + "'");
  if (host.empty()) return invalid("the host is missing");
  return Endpoint{std::string(host), std::string(port)};
}

Result<Credentials> parse_credentials(std::string_view text) {
  const std::string_view user = take_until(text, ':');
  const auto decoded_user = percent_decoded(user);
  const auto password = percent_decoded(text);
  if (!decoded_user || !password)
    return invalid("the user or password has a '%' that is not followed by two hex digits");
  if (!decoded_user->empty() && password->empty())
    return invalid("a user needs a password (user:password@host)");
  return Credentials{*decoded_user, *password};
}

bool is_prefix(std::string_view prefix) {
  // Braces would move the hash tag, by which a cluster finds the record.
  return !prefix.empty() && prefix.size() <= 64 && prefix.find_first_of("{}\r\n") == prefix.npos;
}

Result<Done> set_option(RedisUrl& url, std::string_view name, const std::string& value) {
  const auto check = [&](bool ok, std::string_view expected) -> Result<Done> {
    if (ok) return Done{};
    return invalid("?" + std::string(name) + "= expects " + std::string(expected));
  };
  if (name == "prefix") {
    url.prefix = value;
    return check(is_prefix(value), "1 to 64 characters without braces");
  }
  if (name == "timeout") return check(read_duration(value, url.timeout), "a duration such as 2s");
  if (name == "connect_timeout")
    return check(read_duration(value, url.connect_timeout), "a duration such as 2s");
  if (name == "wait_replicas") return check(read_number(value, url.wait_replicas), "a number");
  if (name == "wait_timeout") return check(read_duration(value, url.wait_timeout), "a duration such as 1s");
  if (name == "tls") return check(read_yes(value, url.use_tls), "true or false");
  if (name == "verify") return check(read_yes(value, url.tls.verify), "true or false");
  const std::array<std::pair<std::string_view, std::string*>, 5> texts{{
      {"ca", &url.tls.ca_file},
      {"cert", &url.tls.cert},
      {"key", &url.tls.key},
      {"sentinel_user", &url.sentinel_credentials.user},
      {"sentinel_password", &url.sentinel_credentials.password},
  }};
  for (const auto& [known, to] : texts) {
    if (name != known) continue;
    *to = value;
    return Done{};
  }
  return invalid("unknown option '?" + std::string(name) + "='");
}

Result<Done> parse_options(RedisUrl& url, std::string_view query) {
  while (!query.empty()) {
    std::string_view value = take_until(query, '&');
    const std::string_view name = take_until(value, '=');
    const auto decoded = percent_decoded(value);
    if (!decoded)
      return invalid("?" + std::string(name) + "= has a '%' that is not followed by two hex digits");
    if (const Result<Done> set = set_option(url, name, *decoded); !set) return set;
  }
  return Done{};
}

Result<Done> parse_path(RedisUrl& url, std::string_view path) {
  if (url.topology == Topology::sentinel) {
    url.master_name = take_until(path, '/');
    if (url.master_name.empty()) return invalid("redis+sentinel:// needs the master's name: …/NAME");
  }
  if (path.empty()) return Done{};
  if (url.topology == Topology::cluster) return invalid("a cluster has no database numbers");
  if (!read_number(path, url.database))
    return invalid("'/" + std::string(path) + "' is not a database number");
  return Done{};
}

Result<Done> parse_scheme(RedisUrl& url, std::string_view& text) {
  const std::size_t end = text.find("://");
  const std::string_view scheme = text.substr(0, end);
  if (end == text.npos) return invalid("expected redis://…");
  text.remove_prefix(end + 3);
  url.use_tls = scheme == "rediss";
  if (scheme == "redis+sentinel") url.topology = Topology::sentinel;
  if (scheme == "redis+cluster") url.topology = Topology::cluster;
  if (scheme == "redis" || url.use_tls || url.topology != Topology::single) return Done{};
  return invalid("expected redis, rediss, redis+sentinel or redis+cluster, found '" + std::string(scheme) +
                 "'");
}

}  // namespace

std::string to_string(const Endpoint& endpoint) {
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  return (v6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" + endpoint.port;
}

Result<net::TlsContext> make_tls(const RedisUrl& url) {
  if (!url.use_tls) return net::TlsContext();
  return net::make_client_tls(url.tls);
}

Result<RedisUrl> parse_redis_url(std::string_view text, RedisUrl defaults) {
  RedisUrl url = std::move(defaults);
  if (const auto ok = parse_scheme(url, text); !ok) return ok.error();
  std::string_view rest = text;
  std::string_view before_query = take_until(rest, '?');
  std::string_view path = before_query;
  std::string_view authority = take_until(path, '/');
  if (const std::size_t at = authority.rfind('@'); at != authority.npos) {
    Result<Credentials> credentials = parse_credentials(authority.substr(0, at));
    if (!credentials) return credentials.error();
    url.credentials = std::move(*credentials);
    authority.remove_prefix(at + 1);
  }
  const std::string_view default_port = url.topology == Topology::sentinel ? "26379" : "6379";
  do {
    Result<Endpoint> endpoint = parse_endpoint(take_until(authority, ','), default_port);
    if (!endpoint) return endpoint.error();
    url.endpoints.push_back(std::move(*endpoint));
  } while (!authority.empty());
  if (url.topology == Topology::single && url.endpoints.size() != 1)
    return invalid("redis:// names one server; a list is for redis+sentinel:// and redis+cluster://");
  if (const auto ok = parse_path(url, path); !ok) return ok.error();
  if (const auto ok = parse_options(url, rest); !ok) return ok.error();
  return url;
}

}  // namespace onceward::redis
