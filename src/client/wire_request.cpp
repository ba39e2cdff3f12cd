#include "client/wire_request.hpp"

#include <algorithm>
#include <array>

#include "base/hex.hpp"
#include "base/sha256.hpp"
#include "core/encode.hpp"
#include "http/chars.hpp"
#include "http/head.hpp"
#include "http/url.hpp"

namespace onceward::client {
namespace {

Error invalid(std::string message) { return {Errc::invalid, std::move(message)}; }

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return http::is_token_char(c); });
}

struct Location {
  std::string origin;
  std::string authority;
  std::string target;
};

Result<Location> locate(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos)
    return invalid("'" + std::string(url) + "' is not an http or https URL");
  const std::size_t end = std::min(url.find_first_of("/?#", scheme + 3), url.size());
  const std::string origin(url.substr(0, end));
  const Result<http::Url> parsed = http::parse_url(origin);
  if (!parsed) return parsed.error();
  std::string target(url.substr(end, url.find('#') - end));
  if (!target.starts_with('/')) target.insert(0, "/");
  if (!std::ranges::all_of(target, [](char c) { return http::is_target_char(c); }))
    return invalid("the URL has characters that must be written as %XX");
  return Location{origin, parsed->authority, std::move(target)};
}

Result<Done> check_header(const Header& header, const ClientOptions& options) {
  constexpr std::array ours{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Expect", "Upgrade",
                            "TE"};
  const auto& [name, value] = header;
  if (!is_token(name)) return invalid("'" + name + "' is not the name of a header");
  if (!std::ranges::all_of(value, [](char c) { return http::is_value_char(c); }))
    return invalid("the value of " + name + " has characters that a header cannot carry");
  for (const char* taken : ours) {
    if (http::same_name(name, taken)) return invalid(name + " is set by the client itself");
  }
  if (http::same_name(name, options.key_header))
    return invalid(name + " is the intent's: a request cannot bring a key of its own");
  return Done{};
}

// A structured-field String (RFC 8941), or the bare key for servers that know no better.
Result<std::string> key_value(const std::string& key, const ClientOptions& options) {
  if (!options.quote_key) {
    if (key.find_first_of(" ,\"") != std::string::npos)
      return invalid("a key with spaces, commas or quotes can only be sent quoted");
    return key;
  }
  std::string quoted = "\"";
  for (const char c : key) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string value_of(const Request& request, std::string_view name) {
  std::string values;
  for (const auto& [header, value] : request.headers) {
    if (http::same_name(header, name)) append_part(values, value);
  }
  return values;
}

std::string request_digest(const Request& request, const Location& location) {
  std::string parts = "onceward intent 1\n";
  append_part(parts, request.method);
  append_part(parts, location.origin + location.target);
  append_part(parts, value_of(request, "Content-Type"));
  append_part(parts, request.body);
  return to_hex(sha256(parts));
}

std::string identity_digest(const Request& request, const ClientOptions& options) {
  std::string parts = "onceward identity 1\n";
  for (const std::string& name : options.identity_headers) append_part(parts, value_of(request, name));
  return to_hex(sha256(parts));
}

bool carries_length(const Request& request) {
  return !request.body.empty() || request.method == "POST" || request.method == "PUT" ||
         request.method == "PATCH";
}

}  // namespace

Result<WireRequest> make_wire_request(const Request& request, const std::string& key,
                                      const ClientOptions& options) {
  if (!is_token(request.method)) return invalid("'" + request.method + "' is not a method");
  const Result<Location> location = locate(request.url);
  if (!location) return location.error();
  const Result<std::string> key_text = key_value(key, options);
  if (!key_text) return key_text.error();
  std::string head = request.method + " " + location->target + " HTTP/1.1\r\nHost: " + location->authority +
                     "\r\n" + options.key_header + ": " + *key_text + "\r\n";
  for (const Header& header : request.headers) {
    if (const Result<Done> checked = check_header(header, options); !checked) return checked.error();
    head.append(header.first).append(": ").append(http::trim(header.second)).append("\r\n");
  }
  if (carries_length(request)) head += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  head += "\r\n";
  return WireRequest{location->origin,
                     request.method,
                     std::move(head),
                     request.body,
                     request_digest(request, *location),
                     identity_digest(request, options)};
}

}  // namespace onceward::client
