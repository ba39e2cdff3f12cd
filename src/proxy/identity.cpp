#include "proxy/identity.hpp"

#include <algorithm>
#include <cctype>

#include "base/hex.hpp"
#include "base/sha256.hpp"
#include "core/scope.hpp"

namespace onceward {
namespace {

constexpr std::size_t identity_bytes_max = 1024;

// The value of the first cookie of that name; cookies of one name twice are ambiguous and read as sent.
std::optional<std::string_view> cookie(const http::HeaderList& headers, std::string_view name) {
  for (const http::HeaderView& header : headers) {
    if (!http::same_name(header.name, "Cookie")) continue;
    std::string_view left = header.value;
    while (!left.empty()) {
      const std::size_t end = std::min(left.find(';'), left.size());
      std::string_view pair = left.substr(0, end);
      left.remove_prefix(std::min(end + 1, left.size()));
      while (!pair.empty() && pair.front() == ' ') pair.remove_prefix(1);
      const std::size_t equals = pair.find('=');
      if (equals != std::string_view::npos && pair.substr(0, equals) == name) return pair.substr(equals + 1);
    }
  }
  return std::nullopt;
}

std::optional<std::string> read(const IdentityRule& rule, const http::RequestHead& request,
                                const http::PeerInfo& peer) {
  std::optional<std::string_view> value;
  switch (rule.from) {
    case IdentitySource::none:
      return std::nullopt;
    case IdentitySource::authorization:
      value = request.headers.find("Authorization");
      break;
    case IdentitySource::header:
      value = request.headers.find(rule.name);
      break;
    case IdentitySource::cookie:
      value = cookie(request.headers, rule.name);
      break;
    case IdentitySource::certificate:
      if (!peer.certificate_fingerprint.empty()) value = peer.certificate_fingerprint;
      break;
  }
  if (!value) return std::nullopt;
  // A credential never goes into a record, not even by way of a scope that somebody logs.
  if (rule.from == IdentitySource::authorization) return to_hex(sha256(*value));
  return std::string(*value);
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !std::isxdigit(static_cast<unsigned char>(text[i]))) return false;
  }
  return true;
}

bool is_repeated(const IdentityRule& rule, const http::RequestHead& request) {
  if (rule.from == IdentitySource::header) return request.headers.count(rule.name) > 1;
  if (rule.from == IdentitySource::authorization) return request.headers.count("Authorization") > 1;
  return false;
}

}  // namespace

std::variant<Identity, IdentityRefused> identify(const IdentityRules& rules, const http::RequestHead& request,
                                                 const http::PeerInfo& peer) {
  // Two values could be read differently here and upstream, and so let one tenant be another.
  if (is_repeated(rules.tenant, request)) {
    return IdentityRefused{ProblemCode::invalid_tenant, "The tenant is given more than once."};
  }
  if (is_repeated(rules.caller, request)) {
    return IdentityRefused{ProblemCode::bad_request, "The caller's identity is given more than once."};
  }
  Identity identity{read(rules.tenant, request, peer), read(rules.caller, request, peer)};
  if (rules.tenant_required && (!identity.tenant || identity.tenant->empty())) {
    return IdentityRefused{ProblemCode::missing_tenant, {}};
  }
  if (identity.tenant && identity.tenant->size() > identity_bytes_max) {
    return IdentityRefused{ProblemCode::invalid_tenant, "The tenant is longer than 1024 bytes."};
  }
  if (rules.tenant_is_uuid && identity.tenant) {
    if (!is_uuid(*identity.tenant))
      return IdentityRefused{ProblemCode::invalid_tenant, "The tenant is not a UUID."};
    // One UUID, one tenant: its letters' case carries no meaning (RFC 9562).
    std::transform(identity.tenant->begin(), identity.tenant->end(), identity.tenant->begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  }
  return identity;
}

std::string owner_tag(const Identity& identity, std::string_view secret) {
  // One caller after another is often the same one, and a hash costs as much as all else that is read here.
  struct Last {
    Identity identity;
    std::string secret;
    std::string tag;
  };
  thread_local Last last;
  if (last.tag.empty() || last.identity != identity || last.secret != secret) {
    last = {identity, std::string(secret), owner_tag_of(identity.tenant, identity.caller, secret)};
  }
  return last.tag;
}

}  // namespace onceward
