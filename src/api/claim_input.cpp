#include "api/claim_input.hpp"

#include <algorithm>
#include <cctype>

#include "api/response_json.hpp"
#include "base/hex.hpp"
#include "core/operation_result.hpp"
#include "core/reserved.hpp"
#include "http/head.hpp"

namespace onceward {
namespace {

constexpr std::size_t identity_bytes_max = 1024;
constexpr std::size_t operation_bytes_max = 1024;
constexpr std::int64_t lease_ms_max = std::int64_t{24} * 3600 * 1000;
constexpr std::int64_t ttl_ms_max = std::int64_t{36500} * 24 * 3600 * 1000;

bool is_key(std::string_view key) {
  return std::ranges::all_of(key, [](char c) { return c >= 0x20 && c < 0x7f; });
}

// Names go into lists, logs and headers: none may break a line.
void check_name(JsonObject& object, std::string_view member, const std::optional<std::string>& text) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (text && std::ranges::any_of(*text, is_control)) object.fail(member, "has a control character");
}

// 64 hex digits are the digest itself, as the proxy would take it; any other text is hashed.
Fingerprint given_fingerprint(std::string_view text) {
  Fingerprint fingerprint;
  fingerprint.version = fingerprint_version;
  if (!from_hex(text, fingerprint.digest.data))
    fingerprint.digest = Digest{sha256("onceward given fingerprint\n" + std::string(text))};
  return fingerprint;
}

RequestParts read_parts(JsonObject& object, std::size_t body_bytes_max) {
  RequestParts parts;
  parts.method = object.text("method", 64).value_or("");
  parts.path = object.text("path", 8192).value_or("");
  const auto query = object.text("query", 8192);
  parts.query = query.value_or("");
  if (const std::size_t mark = parts.path.find('?'); mark != std::string::npos) {
    if (query) object.fail("path", "has a query beside the one that is given");
    parts.query = parts.path.substr(mark + 1);
    parts.path.resize(mark);
  }
  const auto content_type = object.text("content_type", 1024);
  const GivenBody body = read_given_body(object, body_bytes_max).value_or(GivenBody{});
  parts.content_type = content_type.value_or(body.is_json ? "application/json" : "");
  parts.body = body.bytes;
  parts.headers = object.pairs("headers");
  object.refuse_unknown();
  return parts;
}

std::optional<Duration> milliseconds(std::optional<std::int64_t> count) {
  if (!count) return std::nullopt;
  return Duration(*count);
}

std::optional<ClaimRefused> check_tenant(const ApiRules& rules, std::optional<std::string>& tenant) {
  if (rules.tenant_required && (!tenant || tenant->empty()))
    return ClaimRefused{ProblemCode::missing_tenant, ""};
  if (!rules.tenant_is_uuid || !tenant) return std::nullopt;
  if (!operation_id_from_string(*tenant))
    return ClaimRefused{ProblemCode::invalid_tenant, "The tenant is not a UUID."};
  // As the proxy does: the case of a UUID's letters carries no meaning.
  std::ranges::transform(*tenant, tenant->begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::nullopt;
}

std::optional<ClaimRefused> check_key(const ApiRules& rules, const ClaimInput& input) {
  const std::size_t length_max = rules.operation(input.operation).policy->key.max_length;
  if (input.key.empty() || input.key.size() > length_max || !is_key(input.key))
    return ClaimRefused{ProblemCode::invalid_key,
                        "The key is 1 to " + std::to_string(length_max) + " printable ASCII characters."};
  return std::nullopt;
}

}  // namespace

std::optional<ClaimRefused> read_claim(std::string_view text, const ApiRules& rules, ClaimInput& out) {
  JsonBody body(text);
  std::optional<JsonObject> object = body.object();
  if (!object) return ClaimRefused{ProblemCode::bad_request, body.error()};
  out.tenant = object->text("tenant", identity_bytes_max);
  out.caller = object->text("caller", identity_bytes_max);
  out.operation = object->needed_text("operation", operation_bytes_max);
  check_name(*object, "tenant", out.tenant);
  check_name(*object, "caller", out.caller);
  check_name(*object, "operation", out.operation);
  const bool has_key = object->member("key") != nullptr;
  out.key = object->text("key", text.size()).value_or("");
  if (const auto given = object->text("fingerprint", 1024)) {
    if (given->empty()) object->fail("fingerprint", "is empty");
    out.fingerprint = given_fingerprint(*given);
  }
  if (auto parts = object->object("request")) out.request = read_parts(*parts, rules.max_request);
  if (out.fingerprint.has_value() == out.request.has_value())
    object->fail("fingerprint", "give either fingerprint or request");
  out.lease = milliseconds(object->number("lease_ms", 1, lease_ms_max));
  out.ttl = milliseconds(object->number("ttl_ms", 1, ttl_ms_max));
  out.reference = object->text("reference", reference_bytes_max).value_or("");
  check_name(*object, "reference", out.reference);
  out.claim_id = object->text("claim_id", 255).value_or("");
  object->refuse_unknown();
  if (!body.ok()) return ClaimRefused{ProblemCode::bad_request, body.error()};
  if (is_reserved_operation(out.operation))
    return ClaimRefused{ProblemCode::bad_request, "/operation: names that begin with onceward. are reserved"};
  if (!has_key) return ClaimRefused{ProblemCode::missing_key, "/key: is missing"};
  if (auto refused = check_key(rules, out)) return refused;
  return check_tenant(rules, out.tenant);
}

Result<FingerprintResult> fingerprint_of(const ClaimInput& input, const OperationRule& rule,
                                         const Scope& scope, std::uint16_t version) {
  if (input.fingerprint) return FingerprintResult{*input.fingerprint, {}};
  const RequestParts& parts = *input.request;
  std::vector<std::pair<std::string_view, std::string_view>> counted;
  for (const std::string& wanted : rule.policy->fingerprint.headers) {
    for (const auto& [name, value] : parts.headers) {
      if (http::same_name(name, wanted)) counted.emplace_back(wanted, value);
    }
  }
  const FingerprintInput what{.method = parts.method,
                              .operation = input.operation,
                              .path = parts.path,
                              .query = parts.query,
                              .content_type = parts.content_type,
                              .body = parts.body,
                              .headers = counted};
  return fingerprint(version, what, rule.fingerprint, scope);
}

}  // namespace onceward
