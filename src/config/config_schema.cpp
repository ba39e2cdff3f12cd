#include "config/config_schema.hpp"

#include <algorithm>

#include "config/config_codec.hpp"
#include "config/config_consumer.hpp"
#include "config/config_operation.hpp"

namespace onceward::config {
namespace {

constexpr std::string_view jwt_algorithms[] = {"RS256", "RS384", "RS512", "PS256", "PS384",
                                               "PS512", "ES256", "ES384", "EdDSA"};
constexpr std::string_view sink_schemes[] = {"amqp", "amqps", "redis", "rediss", "http", "https", "kafka"};

void describe_tls(Fields& fields, TlsConfig& tls) {
  fields.setting("cert", required(value(tls.cert, TextCodec{})));
  fields.setting("key", required(value(tls.key, TextCodec{})));
  fields.setting("client_ca", optional_text(tls.client_ca, TextCodec{}));
}

void describe_upstream(Fields& fields, UpstreamConfig& upstream) {
  const DurationCodec timeout{.max = std::chrono::days(1)};
  fields.setting("url", value(upstream.url, HttpUrlCodec{}));
  fields.setting("connect_timeout", value(upstream.connect_timeout, timeout));
  fields.setting("timeout", value(upstream.timeout, timeout));
  fields.setting("max_connections", value(upstream.max_connections, CountCodec{1, 65535}));
  fields.setting("ca_file", optional_text(upstream.ca_file, TextCodec{}));
  fields.rule({"ca_file", "url"}, [&upstream]() -> std::string {
    const bool tls = upstream.url && upstream.url->tls;
    return !upstream.ca_file.empty() && !tls ? "ca_file needs an https upstream" : "";
  });
}

// `off` instead of an address: no API.
Setting api_listen(std::optional<Address>& listen) {
  return {.read = [&listen](const YamlNode& node) -> std::string {
            if (node.text == "off") {
              listen.reset();
              return {};
            }
            return value(listen, AddressCodec{}).read(node);
          },
          .write = [&listen] { return listen ? AddressCodec{}.write(*listen) : YamlNode::string("off"); }};
}

void describe_api(Fields& fields, ApiConfig& api) {
  fields.setting("listen", api_listen(api.listen));
  fields.setting("socket", optional_text(api.socket, TextCodec{107}));
  fields.setting("token_file", optional_text(api.token_file, TextCodec{}));
  fields.section("tls", optional_part(api.tls, describe_tls));
  fields.rule({"listen", "token_file", "tls"}, [&api]() -> std::string {
    const bool safe = api.tls && !api.token_file.empty();
    return api.listen && !api.listen->is_loopback() && !safe
               ? "an address other than loopback needs tls and token_file"
               : "";
  });
}

void describe_tenant(Fields& fields, TenantConfig& tenant) {
  fields.setting("from", value(tenant.from, IdentityCodec{.tenant = true}));
  fields.setting("required", value(tenant.required, BoolCodec{}));
  fields.setting("format", value(tenant.format, one_of<TenantFormat>("any", "uuid")));
  fields.rule({"required", "from"}, [&tenant]() -> std::string {
    return tenant.required && tenant.from.source == IdentitySource::none
               ? "a tenant cannot be required when it is read from none"
               : "";
  });
}

void describe_caller(Fields& fields, IdentityFrom& caller) {
  fields.setting("from", value(caller, IdentityCodec{}));
}

void describe_jwt(Fields& fields, JwtConfig& jwt) {
  fields.setting("keys", required(value(jwt.keys, TextCodec{})));
  fields.setting("issuer", optional_text(jwt.issuer, TextCodec{}));
  fields.setting("audience", optional_text(jwt.audience, TextCodec{}));
  fields.list("algorithms", values(jwt.algorithms, WordCodec{jwt_algorithms}));
  fields.rule({"algorithms"}, [&jwt]() -> std::string {
    return jwt.algorithms.empty() ? "at least one algorithm is needed" : "";
  });
}

void describe_identity(Fields& fields, IdentityConfig& identity) {
  fields.section("tenant", part(identity.tenant, describe_tenant));
  fields.section("caller", part(identity.caller, describe_caller));
  fields.section("jwt", optional_part(identity.jwt, describe_jwt));
  for (const auto& [name, from] :
       {std::pair{"tenant", &identity.tenant.from}, std::pair{"caller", &identity.caller}}) {
    fields.rule({name, "jwt"}, [&identity, from]() -> std::string {
      return from->source == IdentitySource::jwt && !identity.jwt ? "an identity from jwt needs identity.jwt"
                                                                  : "";
    });
  }
}

void describe_limits(Fields& fields, LimitsConfig& limits) {
  const DurationCodec timeout{.max = std::chrono::days(1)};
  fields.setting("max_request", value(limits.max_request, SizeCodec{}));
  fields.setting("max_response", value(limits.max_response, SizeCodec{}));
  fields.setting("header_bytes", value(limits.header_bytes, SizeCodec{.min = 1 << 10, .max = 1 << 20}));
  fields.setting("header_timeout", value(limits.header_timeout, timeout));
  fields.setting("idle_timeout", value(limits.idle_timeout, timeout));
}

void describe_quotas(Fields& fields, QuotasConfig& quotas) {
  fields.setting("new_keys_per_second", value(quotas.new_keys_per_second, CountCodec{}));
  fields.setting("burst", value(quotas.burst, CountCodec{}));
  fields.setting("live_keys", value(quotas.live_keys, CountCodec{}));
  fields.setting("in_flight", value(quotas.in_flight, CountCodec{}));
  fields.rule({"burst", "new_keys_per_second"}, [&quotas]() -> std::string {
    return quotas.burst != 0 && quotas.new_keys_per_second == 0 ? "burst needs new_keys_per_second" : "";
  });
}

void describe_probes(Fields& fields, ProbesConfig& probes) {
  fields.setting("per_second", value(probes.per_second, CountCodec{1, 100'000}));
}

void describe_security(Fields& fields, SecurityConfig& security) {
  fields.setting("encrypt", optional_text(security.encrypt, TextCodec{}));
  fields.setting("hash_keys", value(security.hash_keys, BoolCodec{}));
  fields.setting("secret_file", optional_text(security.secret_file, TextCodec{}));
}

void describe_defaults(Fields& fields, Policy& defaults) {
  describe_policy(fields, defaults);
  fields.rule({"on_unknown"}, [&defaults]() -> std::string {
    return defaults.on_unknown == OnUnknown::probe
               ? "probe can only be chosen by an operation that has a probe"
               : "";
  });
}

void describe_outbox(Fields& fields, OutboxConfig& outbox) {
  fields.setting("sink", required(value(outbox.sink, UriCodec{sink_schemes})));
  fields.setting("exchange", optional_text(outbox.exchange, TextCodec{255}));
  fields.setting("secret_file", optional_text(outbox.secret_file, TextCodec{}));
  fields.setting("attempts", value(outbox.attempts, CountCodec{1, 100'000}));
  fields.setting("backoff", value(outbox.backoff, DurationCodec{.min = Duration(1)}));
  fields.setting("max_backoff", value(outbox.max_backoff, DurationCodec{.min = Duration(1)}));
  fields.setting("timeout", value(outbox.timeout, DurationCodec{.min = Duration(100)}));
  fields.setting("poll", value(outbox.poll, DurationCodec{.min = Duration(10)}));
  fields.rule({"timeout"}, [&outbox]() -> std::string {
    // A relay sends only while its claim of a partition is sure to last.
    return outbox.timeout > std::chrono::seconds(30) ? "outbox.timeout is at most 30s" : "";
  });
  fields.rule({"max_backoff", "backoff"}, [&outbox]() -> std::string {
    return outbox.max_backoff < outbox.backoff ? "max_backoff is shorter than backoff" : "";
  });
}

// The items of a bulk operation have a name too.
bool share_a_name(const OperationConfig& a, const OperationConfig& b) {
  const auto has_items_called = [](const OperationConfig& operation, const std::string& name) {
    return operation.bulk && operation.name + ".item" == name;
  };
  return a.name == b.name || has_items_called(a, b.name) || has_items_called(b, a.name);
}

SectionList operations(Config& config) {
  return {[&config] { config.operations.emplace_back().policy = config.defaults; },
          [&config] { return config.operations.size(); },
          [&config](Fields& fields, std::size_t i) {
            OperationConfig& operation = config.operations[i];
            describe_operation(fields, operation);
            const std::span earlier(config.operations.data(), i);
            fields.rule({"name", "match"}, [earlier, &operation]() -> std::string {
              const bool taken = std::ranges::any_of(
                  earlier, [&](const OperationConfig& other) { return share_a_name(other, operation); });
              return taken ? "two operations are called '" + operation.name + "'" : "";
            });
            fields.rule({"match"}, [earlier, &operation]() -> std::string {
              const auto same = std::ranges::find(earlier, operation.match, &OperationConfig::match);
              return same != earlier.end()
                         ? "never reached: operation '" + same->name + "' has the same match"
                         : "";
            });
          }};
}

// What must change in one step with its record, and which of them the configuration uses.
std::string one_step_features(const Config& config) {
  const auto any = [&config](auto uses) { return std::ranges::any_of(config.operations, uses); };
  std::string used;
  const auto add = [&used](bool uses, std::string_view name) {
    if (uses) used.append(used.empty() ? "" : ", ").append(name);
  };
  add(any([](const OperationConfig& o) { return o.policy.unique.has_value(); }), "unique");
  add(any([](const OperationConfig& o) { return o.policy.suspect.has_value(); }), "suspect");
  add(any([](const OperationConfig& o) { return !o.policy.events.empty(); }), "events");
  add(config.outbox.has_value(), "outbox");
  return used;
}

void describe_rules(Fields& fields, Config& config) {
  fields.rule({"store", "operations", "outbox"}, [&config]() -> std::string {
    if (!config.store.text.starts_with("redis+cluster:")) return "";
    const std::string used = one_step_features(config);
    return used.empty() ? ""
                        : "a Redis cluster cannot keep what must change together with a record (" + used +
                              "): use one server, sentinels or PostgreSQL";
  });
  fields.rule({"cache", "store"}, [&config]() -> std::string {
    return config.cache && config.store.kind != StoreKind::postgres
               ? "a cache works only in front of a postgres store"
               : "";
  });
  fields.rule({"durability", "store"}, [&config]() -> std::string {
    return config.durability == Durability::process && config.store.kind != StoreKind::file
               ? "durability: process applies to a file: store only"
               : "";
  });
  fields.rule({"operations", "outbox"}, [&config]() -> std::string {
    const bool any = std::ranges::any_of(config.operations,
                                         [](const auto& entry) { return !entry.policy.events.empty(); });
    return any && !config.outbox ? "events need an outbox.sink to be sent to" : "";
  });
  fields.rule({"listen"}, [&config]() -> std::string {
    return config.listen.empty() ? "at least one address is needed" : "";
  });
  fields.rule({"identity", "tls"}, [&config]() -> std::string {
    const bool certificate = config.identity.caller.source == IdentitySource::certificate;
    return certificate && !(config.tls && !config.tls->client_ca.empty())
               ? "a caller from its certificate needs tls.client_ca"
               : "";
  });
}

}  // namespace

void describe_config(Fields& fields, Config& config) {
  ListSetting listen = values(config.listen, AddressCodec{});
  listen.single = true;
  Section upstream = part(config.upstream, describe_upstream);
  upstream.shorthand = "url";
  Section api = part(config.api, describe_api);
  api.shorthand = "listen";

  fields.list("listen", listen);
  fields.section("tls", optional_part(config.tls, describe_tls));
  fields.section("upstream", upstream);
  fields.setting("store", value(config.store, StoreCodec{}));
  fields.setting("durability", value(config.durability, one_of<Durability>("disk", "process")));
  fields.setting("cache", value(config.cache, StoreCodec{.cache = true}));
  fields.section("api", api);
  fields.setting("workers", value(config.workers, CountCodec{0, 1024}));
  fields.section("identity", part(config.identity, describe_identity));
  fields.section("limits", part(config.limits, describe_limits));
  fields.section("quotas", part(config.quotas, describe_quotas));
  fields.section("probes", part(config.probes, describe_probes));
  fields.section("security", part(config.security, describe_security));
  fields.section("defaults", part(config.defaults, describe_defaults));
  fields.sections("operations", operations(config));
  fields.section("outbox", optional_part(config.outbox, describe_outbox));
  fields.sections("consumers", consumers(config));
  fields.setting("audit_ttl", value(config.audit_ttl, DurationCodec{}));
  describe_rules(fields, config);
}

}  // namespace onceward::config
