#include "api/api.hpp"

#include <optional>

#include "api/browser_guard.hpp"
#include "api/openapi.hpp"

namespace onceward {
namespace {

constexpr std::size_t plain_body_bytes_max = std::size_t{64} << 10;
constexpr std::string_view operations_prefix = "/v1/";

// Bodies inside bodies are base64.
std::size_t with_base64(std::size_t bytes) { return bytes / 3 * 4 + plain_body_bytes_max; }

enum class Size : std::uint8_t { none, plain, request, response };

std::size_t body_limit(Size size, const ApiRules& rules) {
  switch (size) {
    case Size::none:
      return 0;
    case Size::plain:
      return plain_body_bytes_max;
    case Size::request:
      return with_base64(rules.max_request);
    case Size::response:
      return with_base64(rules.max_response);
  }
  return 0;
}

// Health is asked for by whatever name and address a machine was given.
bool is_health(std::string_view path) { return path == "/healthz" || path == "/readyz"; }

}  // namespace

struct Api::Route {
  std::string_view method;
  std::string_view path;  // may have one {}
  Role role;
  Size size;
  Task<> (*serve)(Api&, ApiCall&);
};

// Every change is a POST: nothing that follows links can make one.
const Api::Route Api::routes[] = {
    {"POST", "/v1/claims", Role::app, Size::request, [](Api& a, ApiCall& c) { return a.claims_.claim(c); }},
    {"POST", "/v1/claims/{}/dispatch", Role::app, Size::plain,
     [](Api& a, ApiCall& c) { return a.claims_.dispatch(c); }},
    {"POST", "/v1/claims/{}/renew", Role::app, Size::plain,
     [](Api& a, ApiCall& c) { return a.claims_.renew(c); }},
    {"POST", "/v1/claims/{}/complete", Role::app, Size::response,
     [](Api& a, ApiCall& c) { return a.claims_.complete(c); }},
    {"POST", "/v1/claims/{}/release", Role::app, Size::plain,
     [](Api& a, ApiCall& c) { return a.claims_.release(c); }},
    {"POST", "/v1/claims/{}/unknown", Role::app, Size::plain,
     [](Api& a, ApiCall& c) { return a.claims_.unknown(c); }},
    {"GET", "/v1/records", Role::read, Size::none, [](Api& a, ApiCall& c) { return a.records_.list(c); }},
    {"GET", "/v1/records/{}", Role::read, Size::none, [](Api& a, ApiCall& c) { return a.records_.show(c); }},
    {"POST", "/v1/records/{}/resolve", Role::operate, Size::response,
     [](Api& a, ApiCall& c) { return a.records_.resolve(c); }},
    {"POST", "/v1/purge", Role::operate, Size::plain, [](Api& a, ApiCall& c) { return a.purge_.purge(c); }},
    {"GET", "/v1/outbox", Role::read, Size::none, [](Api& a, ApiCall& c) { return a.outbox_.status(c); }},
    {"GET", "/v1/outbox/events", Role::read, Size::none,
     [](Api& a, ApiCall& c) { return a.outbox_.list(c); }},
    {"POST", "/v1/outbox/retry", Role::operate, Size::plain,
     [](Api& a, ApiCall& c) { return a.outbox_.retry(c); }},
    {"GET", "/v1/stats", Role::read, Size::none, [](Api& a, ApiCall& c) { return a.records_.stats(c); }},
    {"GET", "/v1/audit", Role::read, Size::none, [](Api& a, ApiCall& c) { return a.records_.audit(c); }},
};

struct Api::Found {
  const Route* route = nullptr;
  std::string_view id;
  std::string_view allowed;  // when only the method is wrong
};

namespace {

// What stands in the place of {}, or the empty text when there is no such place.
std::optional<std::string_view> fit(std::string_view pattern, std::string_view path) {
  const std::size_t hole = pattern.find("{}");
  if (hole == pattern.npos) return pattern == path ? std::optional(std::string_view()) : std::nullopt;
  const std::string_view before = pattern.substr(0, hole);
  const std::string_view after = pattern.substr(hole + 2);
  if (path.size() <= before.size() + after.size() || !path.starts_with(before) || !path.ends_with(after))
    return std::nullopt;
  const std::string_view id = path.substr(before.size(), path.size() - before.size() - after.size());
  return id.find('/') == id.npos ? std::optional(id) : std::nullopt;
}

Task<> method_not_allowed(ApiCall& call, std::string_view allowed) {
  const Problem problem{.code = ProblemCode::method_not_allowed};
  const std::string lines = problem_headers(problem) + "Allow: " + std::string(allowed) + "\r\n";
  (void)co_await call.exchange.respond(405, lines, problem_json(problem));
}

std::optional<Principal> principal_of(const http::RequestHead& request, const Tokens& tokens) {
  if (request.headers.count("Authorization") != 1) return std::nullopt;
  const auto token = bearer_token(*request.headers.find("Authorization"));
  return token ? tokens.find(*token) : std::nullopt;
}

// Reading the body may end the call; true when it did not.
Task<bool> read_body(ApiCall& call, std::size_t limit) {
  switch (co_await call.exchange.read_body(limit, call.body)) {
    case http::ReadBody::ok:
      co_return true;
    case http::ReadBody::closed:
      co_return false;
    case http::ReadBody::too_large:
      co_await refuse(call, {.code = ProblemCode::request_too_large,
                             .detail = "The body is larger than this call may be. Nothing was changed."});
      co_return false;
    case http::ReadBody::timeout:
      co_await refuse(call, {.code = ProblemCode::request_timeout});
      co_return false;
    case http::ReadBody::bad:
      co_await refuse_input(call, "The body's framing is broken.");
      co_return false;
  }
  co_return false;
}

}  // namespace

Api::Api(const ApiContext& context, std::shared_ptr<const ApiRules> rules)
    : admin_(context.admin),
      audit_(context.store, context.clock, context.random),
      claims_(context.store, context.clock, context.random, context.metrics, context.events),
      records_(context.store, context.clock, audit_, context.events),
      purge_(context.store, context.clock, audit_),
      outbox_(context.store, audit_, context.events),
      rules_(std::move(rules)) {}

http::PlainAnswer Api::protocol_error(int status, std::string_view detail) {
  return admin_.protocol_error(status, detail);
}

Api::Found Api::find(std::string_view method, std::string_view path) const {
  Found found;
  for (const Route& route : routes) {
    const auto id = fit(route.path, path);
    if (!id) continue;
    found.allowed = route.method == "GET" ? "GET, HEAD" : route.method;
    if (method != route.method && !(method == "HEAD" && route.method == "GET")) continue;
    found.route = &route;
    found.id = *id;
    break;
  }
  return found;
}

Task<> Api::handle(http::Exchange& exchange) {
  const http::RequestHead& request = exchange.request();
  const http::PeerInfo& peer = exchange.peer();
  ApiCall call{exchange, rules_, {}, {}, {}};
  const std::string_view path = request.path();
  if (is_health(path)) co_return co_await admin_.handle(exchange);
  // A certificate binds the name by itself, and no page can reach a socket in the file system.
  const bool any_host = peer.tls || peer.is_local;
  if (!any_host && !is_own_host(request.host, rules_->listen_host))
    co_return co_await refuse(
        call, {.code = ProblemCode::forbidden, .detail = "The Host is not a name of this listener."});
  if (!is_own_origin(request, peer.tls))
    co_return co_await refuse(
        call, {.code = ProblemCode::forbidden, .detail = "The Origin is not this listener's own."});
  if (!path.starts_with(operations_prefix)) co_return co_await open(call, path);

  std::optional<Principal> principal = principal_of(request, rules_->tokens);
  if (!principal)
    co_return co_await refuse(call,
                              {.code = ProblemCode::unauthenticated,
                               .detail = "The API needs Authorization: Bearer with one of its tokens."});
  call.principal = std::move(*principal);
  const Found found = find(request.method, path);
  if (!found.route && found.allowed.empty())
    co_return co_await refuse(call, {.code = ProblemCode::not_found});
  if (!found.route) co_return co_await method_not_allowed(call, found.allowed);
  call.id = found.id;
  co_await serve(call, *found.route);
}

Task<> Api::serve(ApiCall& call, const Route& route) {
  if (!has_role(call.principal.roles, route.role))
    co_return co_await refuse(call, {.code = ProblemCode::forbidden});
  if (route.size != Size::none && !co_await read_body(call, body_limit(route.size, *call.rules))) co_return;
  co_await route.serve(*this, call);
}

// What is no resource: metrics, and the description of the rest.
Task<> Api::open(ApiCall& call, std::string_view path) {
  const http::RequestHead& request = call.exchange.request();
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (path == "/openapi.json") {
    if (!reads) co_return co_await method_not_allowed(call, "GET, HEAD");
    (void)co_await call.exchange.respond(200, "Content-Type: application/json\r\n", openapi_json());
    co_return;
  }
  if (path != "/metrics") co_return co_await refuse(call, {.code = ProblemCode::not_found});
  if (!reads) co_return co_await method_not_allowed(call, "GET, HEAD");
  if (!call.rules->open_metrics && !call.exchange.peer().is_local) {
    const std::optional<Principal> principal = principal_of(request, call.rules->tokens);
    if (!principal) co_return co_await refuse(call, {.code = ProblemCode::unauthenticated});
    if (!has_role(principal->roles, Role::read))
      co_return co_await refuse(call, {.code = ProblemCode::forbidden});
  }
  co_await admin_.handle(call.exchange);
}

}  // namespace onceward
