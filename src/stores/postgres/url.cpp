#include "stores/postgres/url.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include "base/hex.hpp"

namespace onceward::postgres {
namespace {

constexpr std::size_t connections_max = 100;
constexpr std::int64_t timeout_max_ms = 600'000;

Error invalid(std::string why) { return {Errc::invalid, "postgres URL: " + std::move(why)}; }

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::uint8_t byte = 0;
    if (text[at] == '%' && at + 2 < text.size() && from_hex(text.substr(at + 1, 2), {&byte, 1})) {
      out += static_cast<char>(byte);
      at += 2;
    } else {
      out += text[at];
    }
  }
  return out;
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Duration> duration(std::string_view text) {
  std::int64_t unit_ms = 0;
  if (text.ends_with("ms")) {
    unit_ms = 1;
    text.remove_suffix(2);
  } else if (text.ends_with("s")) {
    unit_ms = 1000;
    text.remove_suffix(1);
  }
  const std::optional<std::int64_t> count = number(text);
  if (unit_ms == 0 || !count || *count <= 0 || *count > timeout_max_ms / unit_ms) return std::nullopt;
  return Duration(*count * unit_ms);
}

std::optional<bool> on_or_off(std::string_view text) {
  if (text == "on") return true;
  if (text == "off") return false;
  return std::nullopt;
}

// libpq's view of a URL, with what a store always wants unless the URL says otherwise.
Result<ConnectionSettings> connection_settings(const std::string& url) {
  char* message = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
      PQconninfoParse(url.c_str(), &message), &PQconninfoFree);
  const std::unique_ptr<char, decltype(&PQfreemem)> owned(message, &PQfreemem);
  // libpq's message quotes the URL, which has a password in it.
  if (!options) return invalid("not understood; expected postgres://user@host:port/database?option=value");
  ConnectionSettings settings;
  for (const PQconninfoOption* option = options.get(); option->keyword; ++option)
    if (option->val) settings.values.emplace_back(option->keyword, option->val);
  const auto by_default = [&](const char* keyword, const char* value) {
    if (settings.get(keyword).empty()) settings.set(keyword, value);
  };
  by_default("target_session_attrs", "read-write");
  by_default("application_name", "onceward");
  by_default("gssencmode", "disable");  // its name look-ups could block
  by_default("keepalives_idle", "30");
  settings.set("client_encoding", "UTF8");
  return settings;
}

std::string shown_of(const ConnectionSettings& settings) {
  std::string text = "postgres://";
  if (const std::string user = settings.get("user"); !user.empty()) text += user + "@";
  const std::string host = settings.get("host");
  text += host.empty() ? settings.get("hostaddr") : host;
  if (const std::string port = settings.get("port"); !port.empty()) text += ":" + port;
  return text + "/" + settings.get("dbname");
}

// Takes one of our own options; false: it is libpq's.
Result<bool> take_option(PostgresUrl& url, std::string_view name, const std::string& value,
                         std::string& listen_url) {
  const auto wrong = [&](const char* expected) {
    return invalid(std::string(name) + ": expected " + expected + ", found '" + value + "'");
  };
  if (name == "connections") {
    const std::optional<std::int64_t> count = number(value);
    if (!count || *count < 1 || *count > static_cast<std::int64_t>(connections_max)) return wrong("1 to 100");
    url.connections = static_cast<std::size_t>(*count);
  } else if (name == "timeout" || name == "connect_timeout") {
    const std::optional<Duration> time = duration(value);
    if (!time) return wrong("a time such as 500ms or 5s");
    (name == "timeout" ? url.timeout : url.connect_timeout) = *time;
  } else if (name == "migrate" || name == "listen") {
    const std::optional<bool> set = on_or_off(value);
    if (!set) return wrong("on or off");
    (name == "migrate" ? url.migrate : url.listen) = *set;
  } else if (name == "listen_url") {
    listen_url = value;
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string ConnectionSettings::get(std::string_view keyword) const {
  for (const auto& [name, value] : values)
    if (name == keyword) return value;
  return {};
}

void ConnectionSettings::set(std::string_view keyword, std::string value) {
  for (auto& [name, old] : values) {
    if (name != keyword) continue;
    old = std::move(value);
    return;
  }
  values.emplace_back(keyword, std::move(value));
}

Result<PostgresUrl> parse_postgres_url(std::string_view text) {
  PostgresUrl url;
  std::string listen_url;
  const std::size_t query = std::min(text.find('?'), text.size());
  std::string libpq_url(text.substr(0, query));
  char separator = '?';
  for (std::size_t at = query + 1; at < text.size();) {
    const std::size_t end = std::min(text.find('&', at), text.size());
    const std::string_view pair = text.substr(at, end - at);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string value = equals < pair.size() ? decoded(pair.substr(equals + 1)) : "";
    const Result<bool> taken = take_option(url, pair.substr(0, equals), value, listen_url);
    if (!taken) return taken.error();
    if (!*taken) {
      libpq_url += separator + std::string(pair);
      separator = '&';
    }
    at = end + 1;
  }
  Result<ConnectionSettings> server = connection_settings(libpq_url);
  if (!server) return server.error();
  url.server = url.listener = std::move(*server);
  url.shown = shown_of(url.server);
  if (listen_url.empty()) return url;
  Result<ConnectionSettings> listener = connection_settings(listen_url);
  if (!listener) return listener.error();
  url.listener = std::move(*listener);
  url.has_own_listener = url.listen;
  return url;
}

}  // namespace onceward::postgres
