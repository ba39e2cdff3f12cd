// Config: everything a configuration file can say, as typed values, already merged with the
// environment, the command line and the built-in defaults. Built at start-up and at reload by
// load_config(), which reports every mistake at once; immutable afterwards and safe to share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/policy.hpp"
#include "onceward/executor.hpp"

namespace onceward::config {

struct Address {
  std::string host;  // a name or an IP address, without brackets
  std::uint16_t port = 0;
  bool operator==(const Address&) const = default;

  std::string text() const;  // host:port or [address]:port
  bool is_loopback() const;  // nobody on another machine can reach it
};

struct TlsConfig {
  std::string cert;
  std::string key;
  std::string client_ca;  // empty: clients need no certificate
};

struct HttpUrl {
  bool tls = false;
  std::string host;  // without brackets
  std::uint16_t port = 0;
  std::string target;  // path and query; empty where none is allowed or given
  bool operator==(const HttpUrl&) const = default;

  std::string authority() const { return Address{host, port}.text(); }
  std::string origin() const { return (tls ? "https://" : "http://") + authority(); }
};

struct UpstreamConfig {
  std::optional<HttpUrl> url;  // absent: nothing to forward to; `serve` refuses
  Duration connect_timeout = std::chrono::seconds(2);
  Duration timeout = std::chrono::seconds(30);
  std::size_t max_connections = 256;
  std::string ca_file;  // empty: the system's authorities
};

enum class StoreKind { memory, file, redis, postgres };

struct StoreUri {
  StoreKind kind = StoreKind::file;
  std::string text = "file:./onceward-data";             // as written
  std::string folder() const { return text.substr(5); }  // of file:
  bool operator==(const StoreUri&) const = default;
};

enum class Durability { disk, process };

struct ApiConfig {
  std::optional<Address> listen;  // absent: 127.0.0.1:9180 is not opened
  std::string socket;             // also served there; empty: no socket in the file system
  std::string token_file;         // empty: a token is generated at first start
  std::optional<TlsConfig> tls;
};

// Where the tenant or the caller is read from.
enum class IdentitySource { none, authorization, header, cookie, jwt, certificate };
enum class TenantFormat { any, uuid };

struct IdentityFrom {
  IdentitySource source = IdentitySource::none;
  std::string argument;  // header's or cookie's name, or the JSON pointer into the token's claims
  bool operator==(const IdentityFrom&) const = default;
};

struct TenantConfig {
  IdentityFrom from{IdentitySource::header, "X-Tenant-ID"};
  bool required = false;
  TenantFormat format = TenantFormat::any;
};

struct JwtConfig {
  std::string keys;
  std::string issuer;
  std::string audience;
  std::vector<std::string> algorithms = {"RS256", "ES256"};
};

struct IdentityConfig {
  TenantConfig tenant;
  IdentityFrom caller{IdentitySource::authorization, ""};
  std::optional<JwtConfig> jwt;
};

struct LimitsConfig {
  std::size_t max_request = std::size_t{1} << 20;
  std::size_t max_response = std::size_t{10} << 20;
  std::size_t header_bytes = std::size_t{32} << 10;
  Duration header_timeout = std::chrono::seconds(10);
  Duration idle_timeout = std::chrono::seconds(60);
};

struct QuotasConfig {  // per tenant and caller; 0: no limit
  std::size_t new_keys_per_second = 0;
  std::size_t burst = 0;
  std::size_t live_keys = 0;
  std::size_t in_flight = 0;
};

struct ProbesConfig {  // all probes together
  std::size_t per_second = 50;
};

struct SecurityConfig {
  std::string encrypt;  // the keyring file; empty: stored responses are not encrypted
  bool hash_keys = true;
  std::string secret_file;  // keys the hashes of keys and leaves; empty: kept in the store's folder
};

struct RequestLine {
  std::string method;
  std::string target;  // may hold {…} placeholders
  bool operator==(const RequestLine&) const = default;
};

struct ProbeConfig {
  RequestLine request;
  std::vector<int> applied = {200};
  std::vector<int> not_applied = {404};
  std::string response;       // JSON pointer; empty: the whole answer
  std::optional<int> status;  // of the replayed response; absent: the answer's
  Duration every = std::chrono::seconds(5);
  Duration give_up = std::chrono::hours(24);
};

struct BulkConfig {
  std::string items;  // JSON pointer to the array
  std::string id;     // JSON pointer inside an item
  RequestLine request;
  std::size_t parallel = 8;
  std::size_t max_items = 10'000;
};

// Where the caller's business reference is: a JSON pointer into the body, or a header.
struct ReferenceConfig {
  bool is_header = false;
  std::string where;  // the pointer, or the header's name
  bool operator==(const ReferenceConfig&) const = default;
};

struct OperationConfig {
  std::string name;   // by default the match itself
  std::string match;  // METHOD PATH, see proxy/routes.hpp
  Policy policy;      // the defaults with this entry's settings on top
  std::optional<ProbeConfig> probe;
  std::optional<BulkConfig> bulk;
  std::optional<ReferenceConfig> reference;
};

struct OutboxConfig {
  std::string sink;  // amqp:// | redis://…?stream=NAME | http(s)://… | kafka://…
  std::string exchange;
  std::string secret_file;     // signs webhooks; empty: they are not signed
  std::size_t attempts = 100;  // then an event is set aside
  Duration backoff = std::chrono::seconds(1);
  Duration max_backoff = std::chrono::minutes(10);
  Duration timeout = std::chrono::seconds(5);  // of one attempt
  Duration poll = std::chrono::seconds(2);     // for what others wrote
  bool operator==(const OutboxConfig&) const = default;
};

struct ConsumerTarget {
  std::string method;
  HttpUrl url;
  bool operator==(const ConsumerTarget&) const = default;
};

struct ConsumerConfig {
  std::string name;  // by default the queue's, stream's or topic's
  std::string from;
  ConsumerTarget to;
  std::string id;  // message-id, header:NAME, json:/pointer or content
  std::size_t attempts = 5;
  Duration backoff = std::chrono::seconds(1);  // after the first attempt that failed; doubles
  std::string dead_letter;                     // empty: the place's name and ".dead"
  std::size_t concurrency = 8;
  Duration timeout = std::chrono::seconds(30);  // for the service's answer
  Policy policy;                                // the defaults, with other words for 5xx
};

struct Config {
  std::vector<Address> listen = {{"127.0.0.1", 8080}};
  std::optional<TlsConfig> tls;
  UpstreamConfig upstream;
  StoreUri store;
  Durability durability = Durability::disk;
  std::optional<StoreUri> cache;
  ApiConfig api{.listen = Address{"127.0.0.1", 9180}, .socket = {}, .token_file = {}, .tls = {}};
  std::size_t workers = 0;  // 0: one per core
  IdentityConfig identity;
  LimitsConfig limits;
  QuotasConfig quotas;
  ProbesConfig probes;
  SecurityConfig security;
  Policy defaults;
  std::vector<OperationConfig> operations;
  std::optional<OutboxConfig> outbox;
  std::vector<ConsumerConfig> consumers;
  Duration audit_ttl = std::chrono::days(90);
};

// Every mistake, in the order of the sources: "file:line:column: message" for the file, "VARIABLE:
// message" for the environment, "--flag: message" for the command line.
struct ConfigErrors {
  std::vector<std::string> messages;
};

using NamedValue = std::pair<std::string, std::string>;

// Where a configuration comes from; flags win over the environment, which wins over the file.
struct ConfigSources {
  std::string file_name;                // only for messages
  std::string text;                     // the YAML; empty: all defaults
  std::vector<NamedValue> environment;  // names without the ONCEWARD_ prefix are ignored
  std::vector<NamedValue> flags;  // {"--upstream", "http://…"}; --upstream --listen --store --cache --api
};

std::expected<Config, ConfigErrors> load_config(const ConfigSources& sources);

// Reads `file` (empty: no file), takes the process's environment, and loads.
std::expected<Config, ConfigErrors> load_config_file(const std::string& file,
                                                     const std::vector<NamedValue>& flags);

// The whole effective configuration. The YAML loads again to the same Config.
std::string effective_yaml(const Config& config);
std::string effective_json(const Config& config);

// What the configuration asks for and this build cannot do, each as a sentence; `serve` refuses to start
// rather than ignore a setting that someone relies on.
std::vector<std::string> unsupported_features(const Config& config);

}  // namespace onceward::config
