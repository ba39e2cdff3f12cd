#include "config/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "config/config_override.hpp"

namespace onceward::config {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

Config load(const std::string& text, std::vector<NamedValue> environment = {},
            std::vector<NamedValue> flags = {}) {
  auto config = load_config({.file_name = "f", .text = text, .environment = environment, .flags = flags});
  if (!config) {
    ADD_FAILURE() << testing::PrintToString(config.error().messages);
    return {};
  }
  return *std::move(config);
}

std::vector<std::string> errors_of(const std::string& text, std::vector<NamedValue> environment,
                                   std::vector<NamedValue> flags = {}) {
  auto config = load_config({.file_name = "f", .text = text, .environment = environment, .flags = flags});
  return config ? std::vector<std::string>{} : config.error().messages;
}

// Everything that the schema knows, with no value left at its default where that is possible.
constexpr const char* everything = R"(
listen: ['[::1]:8443', 0.0.0.0:80]
tls: { cert: c.pem, key: k.pem, client_ca: ca.pem }
upstream: { url: 'https://backend.example', connect_timeout: 500ms, timeout: 90s, max_connections: 7, ca_file: up.pem }
store: postgres://u@h/db?sslmode=require
cache: redis+cluster://h1,h2
api: { listen: 0.0.0.0:9999, socket: /run/s, token_file: tokens, tls: { cert: c, key: k, client_ca: a } }
workers: 3
identity:
  tenant: { from: 'jwt:/tenant', required: true, format: uuid }
  caller: { from: certificate }
  jwt: { keys: jwks.json, issuer: 'https://i', audience: "a: b", algorithms: [EdDSA] }
limits: { max_request: 1000, max_response: 64KiB, header_bytes: 16KiB, header_timeout: 1500ms, idle_timeout: 2h }
quotas: { new_keys_per_second: 1, burst: 2, live_keys: 3, in_flight: 4 }
security: { encrypt: keyring.yaml, hash_keys: false, secret_file: '#secret' }
defaults:
  mode: observe
  key: { header: X-Key, required: true, strict: true, max_length: 64, from: 'json:/a~1b' }
  ttl: 90m
  receipt_ttl: 3d
  lease: 10s
  max_hold: 1h
  in_progress: { wait: 0s, max_wait: 5s, then: accept }
  mismatch_status: 409
  fingerprint: { ignore: [/a, '/b c'], include: [/d], query: false, headers: [X-A, X-B] }
  outcomes: { replay: [401], retry: [5xx, 404], unknown: [501] }
  replay: { status: 200, header: X-Replayed, keep_cookies: true }
  on_unknown: forward
  on_store_failure: open
operations:
  - name: 'true'
    match: POST /payments/{id}
    mode: enforce
    outcomes: { unknown: [404, 4xx] }
    on_unknown: probe
    probe: { request: 'GET /by/{operation_id}', applied: [200, 202], not_applied: [404], every: 1s, give_up: 2h }
    unique: { name: u, fields: [/o], keep: 10d, on_conflict: replay }
    suspect: { fields: [/c], within: 5s, action: reject }
    events: [ { on: succeeded, type: made }, { on: failed, type: lost } ]
    bulk: { items: /i, id: /id, request: 'POST /x/{/c}', parallel: 2, max_items: 7 }
    reference: header:X-Order
  - match: '* /files/{rest*}'
    key: { from: content }
    reference: /order/no
outbox: { sink: redis://h?stream=S, exchange: e, secret_file: s }
consumers: [ { from: kafka://h/t, to: POST http://127.0.0.1:9000/handle?x=1, id: 'json:/id', attempts: 9, dead_letter: d, name: n, backoff: 2s, concurrency: 3, timeout: 9s, ttl: 2d, receipt_ttl: 3d, lease: 4s, max_hold: 5m, on_unknown: forward, outcomes: { retry: [409] } } ]
audit_ttl: 1d
)";

TEST(Config, AnEmptyFileIsAllDefaults) {
  for (const char* text :
       {"", "---\n", "# nothing\n", "~", "{}", "defaults:\noperations:\nlisten: 127.0.0.1:8080"}) {
    EXPECT_EQ(effective_yaml(load(text)), effective_yaml(Config{})) << text;
  }
}

TEST(Config, TheDefaultsAreTheContracts) {
  const Config config = load("");
  EXPECT_THAT(config.listen, ElementsAre(Address{"127.0.0.1", 8080}));
  EXPECT_EQ(config.upstream.url, std::nullopt);
  EXPECT_EQ(config.store.kind, StoreKind::file);
  EXPECT_EQ(config.store.folder(), "./onceward-data");
  EXPECT_EQ(config.api.listen, (Address{"127.0.0.1", 9180}));
  EXPECT_EQ(config.limits.max_request, 1u << 20);
  EXPECT_EQ(config.defaults.ttl, 24h);
  EXPECT_EQ(config.defaults.key.header, "Idempotency-Key");
  EXPECT_TRUE(unsupported_features(config).empty());
}

TEST(Config, EverySettingIsRead) {
  const Config c = load(everything);
  EXPECT_THAT(c.listen, ElementsAre(Address{"::1", 8443}, Address{"0.0.0.0", 80}));
  EXPECT_EQ(c.tls->client_ca, "ca.pem");
  EXPECT_EQ(c.upstream.url, (HttpUrl{true, "backend.example", 443, ""}));
  EXPECT_EQ(c.upstream.connect_timeout, 500ms);
  EXPECT_EQ(c.upstream.max_connections, 7u);
  EXPECT_EQ(c.store.kind, StoreKind::postgres);
  EXPECT_EQ(c.cache->kind, StoreKind::redis);
  EXPECT_EQ(c.api.tls->key, "k");
  EXPECT_EQ(c.api.socket, "/run/s");
  EXPECT_EQ(c.identity.tenant.from, (IdentityFrom{IdentitySource::jwt, "/tenant"}));
  EXPECT_EQ(c.identity.caller.source, IdentitySource::certificate);
  EXPECT_EQ(c.identity.jwt->audience, "a: b");
  EXPECT_THAT(c.identity.jwt->algorithms, ElementsAre("EdDSA"));
  EXPECT_EQ(c.limits.max_request, 1000u);
  EXPECT_EQ(c.limits.header_timeout, 1500ms);
  EXPECT_EQ(c.quotas.in_flight, 4u);
  EXPECT_FALSE(c.security.hash_keys);
  EXPECT_EQ(c.defaults.mode, Mode::observe);
  EXPECT_EQ(c.defaults.key.from, KeySource::json);
  EXPECT_EQ(c.defaults.key.from_argument, "/a~1b");
  EXPECT_EQ(c.defaults.receipt_ttl, 72h);
  EXPECT_EQ(c.defaults.in_progress.then, InProgressThen::accept);
  EXPECT_EQ(c.defaults.mismatch_status, 409);
  EXPECT_THAT(c.defaults.fingerprint.ignore, ElementsAre("/a", "/b c"));
  EXPECT_TRUE(c.defaults.replay.status_200);
  EXPECT_EQ(c.defaults.on_store_failure, OnStoreFailure::open);
  ASSERT_EQ(c.operations.size(), 2u);
  EXPECT_EQ(c.operations[0].name, "true");
  EXPECT_EQ(c.operations[0].probe->request, (RequestLine{"GET", "/by/{operation_id}"}));
  EXPECT_THAT(c.operations[0].probe->applied, ElementsAre(200, 202));
  EXPECT_EQ(c.operations[0].policy.unique->on_conflict, OnConflict::replay);
  EXPECT_EQ(c.operations[0].policy.suspect->action, SuspectAction::reject);
  EXPECT_EQ(c.operations[0].policy.events[1].on, EventOn::failed);
  EXPECT_EQ(c.operations[0].bulk->parallel, 2u);
  EXPECT_EQ(c.operations[0].bulk->max_items, 7u);
  EXPECT_EQ(c.operations[0].reference, (ReferenceConfig{true, "X-Order"}));
  EXPECT_EQ(c.operations[1].reference, (ReferenceConfig{false, "/order/no"}));
  EXPECT_EQ(c.operations[1].name, "* /files/{rest*}");
  EXPECT_EQ(c.outbox->sink, "redis://h?stream=S");
  EXPECT_EQ(c.consumers[0].to, (ConsumerTarget{"POST", {false, "127.0.0.1", 9000, "/handle?x=1"}}));
  EXPECT_EQ(c.audit_ttl, 24h);
}

TEST(Config, OperationsInheritTheDefaultsKeyByKey) {
  const Config c = load(R"(
operations:
  - match: POST /a
    key: { required: true }
    fingerprint: { ignore: [] }
    outcomes: { retry: [404] }
defaults:
  key: { header: X-Key, max_length: 10 }
  ttl: 2h
  fingerprint: { ignore: [/x], query: false }
  outcomes: { retry: [409], unknown: [503] }
)");
  const Policy& p = c.operations[0].policy;
  EXPECT_TRUE(p.key.required);
  EXPECT_EQ(p.key.header, "X-Key");
  EXPECT_EQ(p.key.max_length, 10u);
  EXPECT_EQ(p.ttl, 2h);
  EXPECT_TRUE(p.fingerprint.ignore.empty());
  EXPECT_FALSE(p.fingerprint.query);
  EXPECT_EQ(p.outcomes.of(404), OutcomeClass::retry);
  EXPECT_EQ(p.outcomes.of(409), OutcomeClass::retry);
  EXPECT_EQ(p.outcomes.of(503), OutcomeClass::unknown);
  EXPECT_FALSE(c.defaults.key.required);
  EXPECT_EQ(c.defaults.outcomes.of(404), OutcomeClass::replay);
}

TEST(Config, AListedStatusChangesAndTheOthersKeepTheirMeaning) {
  const OutcomeTable t =
      load("defaults: { outcomes: { unknown: [5xx], replay: [501, 429] } }").defaults.outcomes;
  EXPECT_EQ(t.of(500), OutcomeClass::unknown);
  EXPECT_EQ(t.of(503), OutcomeClass::unknown);
  EXPECT_EQ(t.of(501), OutcomeClass::replay) << "a code is more exact than its class";
  EXPECT_EQ(t.of(429), OutcomeClass::replay);
  EXPECT_EQ(t.of(401), OutcomeClass::retry);
  EXPECT_EQ(t.of(200), OutcomeClass::replay);
}

TEST(Config, QuestionMarksInFlowListsArePlainText) {
  EXPECT_EQ(load("outbox: {sink: amqp://h?a=b?c}").outbox->sink, "amqp://h?a=b?c");
  EXPECT_EQ(load("outbox: {sink: 'amqp://h?a'} # really?").outbox->sink, "amqp://h?a");
}

TEST(Config, AnchorsCanBeShared) {
  const Config c = load("defaults: { fingerprint: { ignore: &i [/a], include: *i } }");
  EXPECT_THAT(c.defaults.fingerprint.include, ElementsAre("/a"));
}

class RoundTrip : public testing::TestWithParam<const char*> {};

TEST_P(RoundTrip, TheEffectiveYamlLoadsToTheSameConfig) {
  const std::string once = effective_yaml(load(GetParam()));
  const Config again = load(once);
  EXPECT_EQ(effective_yaml(again), once);
  EXPECT_EQ(effective_json(again), effective_json(load(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(
    Table, RoundTrip,
    testing::Values("", everything, "api: off", "store: 'file:/tmp/a b: c #d'",
                    "listen: [127.0.0.1:0, '[::]:1']", "defaults: { outcomes: { retry: [2xx] } }",
                    "operations: [ { name: '010', match: POST /a } ]",
                    "operations: [ { name: \"caf\\u00e9 \\\\ 'x' \\\"y\\\"\", match: POST /a } ]",
                    "operations: [ { name: '- a', match: POST /a }, { name: '~', match: POST /b } ]"));

TEST(Config, TheRoundTripKeepsEveryStatus) {
  const Config config = load(everything);
  const Config again = load(effective_yaml(config));
  EXPECT_EQ(config.defaults.outcomes, again.defaults.outcomes);
  EXPECT_EQ(config.operations[0].policy.outcomes, again.operations[0].policy.outcomes);
}

TEST(Config, TheEffectiveJsonIsJson) {
  const boost::json::value json = boost::json::parse(effective_json(load(everything)));
  EXPECT_EQ(json.at("workers").as_int64(), 3);
  EXPECT_EQ(json.at("defaults").at("ttl").as_string(), "90m");
  EXPECT_EQ(json.at("defaults").at("key").at("required").as_bool(), true);
  EXPECT_EQ(json.at("operations").at(0).at("name").as_string(), "true");
}

TEST(ConfigOverrides, FlagsWinOverTheEnvironmentWhichWinsOverTheFile) {
  const Config c = load("store: file:a\nworkers: 1\nupstream: http://file\n",
                        {{"ONCEWARD_STORE", "file:b"}, {"ONCEWARD_WORKERS", "2"}, {"PATH", "x"}},
                        {{"--store", "file:c"}, {"--upstream", "http://flag:1"}});
  EXPECT_EQ(c.store.text, "file:c");
  EXPECT_EQ(c.workers, 2u);
  EXPECT_EQ(c.upstream.url->host, "flag");
}

TEST(ConfigOverrides, ReachEverySettingOfTheFileOutsideOfLists) {
  const Config c = load("upstream: http://h\n", {{"ONCEWARD_DEFAULTS_TTL", "7d"},
                                                 {"ONCEWARD_DEFAULTS_KEY_REQUIRED", "true"},
                                                 {"ONCEWARD_LIMITS_MAX_REQUEST", "2MiB"},
                                                 {"ONCEWARD_UPSTREAM_TIMEOUT", "5s"},
                                                 {"ONCEWARD_LISTEN", "127.0.0.1:1, 127.0.0.1:2"},
                                                 {"ONCEWARD_DEFAULTS_OUTCOMES_RETRY", "404,5xx"},
                                                 {"ONCEWARD_API", "127.0.0.1:7"},
                                                 {"ONCEWARD_TLS_CERT", "c"},
                                                 {"ONCEWARD_TLS_KEY", "k"},
                                                 {"ONCEWARD_IDENTITY_TENANT_FROM", "header:X-T"},
                                                 {"ONCEWARD_DEFAULTS_IN_PROGRESS_MAX_WAIT", "9s"},
                                                 {"ONCEWARD_AUDIT_TTL", ""},
                                                 {"ONCEWARD_TOKEN", "secret"},
                                                 {"ONCEWARD_INTENTS", "/tmp"},
                                                 {"ONCEWARD_FAILPOINT", "x:kill"}});
  EXPECT_EQ(c.defaults.ttl, 7 * 24h);
  EXPECT_TRUE(c.defaults.key.required);
  EXPECT_EQ(c.limits.max_request, 2u << 20);
  EXPECT_EQ(c.upstream.url->host, "h");
  EXPECT_EQ(c.upstream.timeout, 5s);
  EXPECT_THAT(c.listen, ElementsAre(Address{"127.0.0.1", 1}, Address{"127.0.0.1", 2}));
  EXPECT_EQ(c.defaults.outcomes.of(404), OutcomeClass::retry);
  EXPECT_EQ(c.defaults.outcomes.of(599), OutcomeClass::retry);
  EXPECT_EQ(c.api.listen->port, 7);
  EXPECT_EQ(c.tls->cert, "c");
  EXPECT_EQ(c.identity.tenant.from.argument, "X-T");
  EXPECT_EQ(c.defaults.in_progress.max_wait, 9s);
  EXPECT_EQ(c.audit_ttl, Config{}.audit_ttl) << "an empty variable sets nothing";
}

TEST(ConfigOverrides, MistakesNameTheVariableOrTheFlag) {
  EXPECT_THAT(errors_of("", {{"ONCEWARD_DEFAULTS_TTL", "0s"}}),
              ElementsAre("ONCEWARD_DEFAULTS_TTL: must be greater than zero, found '0s'"));
  EXPECT_THAT(errors_of("", {{"ONCEWARD_DEFAULT_TTL", "1h"}}),
              ElementsAre("ONCEWARD_DEFAULT_TTL: no such setting; did you mean 'ONCEWARD_DEFAULTS_TTL'?"));
  EXPECT_THAT(errors_of("", {{"ONCEWARD_STORE", "file:\xff"}}, {{"--api", "a\nb"}}),
              ElementsAre("--api: a control character, or a byte that is not UTF-8",
                          "ONCEWARD_STORE: a control character, or a byte that is not UTF-8"));
  EXPECT_THAT(errors_of("", {{"ONCEWARD_OPERATIONS", "x"}}),
              ElementsAre("ONCEWARD_OPERATIONS: no such setting"));
  EXPECT_THAT(errors_of("", {{"ONCEWARD_DEFAULTS_KEY", "x"}}),
              ElementsAre(testing::StartsWith("ONCEWARD_DEFAULTS_KEY: no such setting")));
  EXPECT_THAT(errors_of("", {}, {{"--listen", "80"}}),
              ElementsAre("--listen: expected HOST:PORT, such as 127.0.0.1:8080, found '80'"));
  EXPECT_THAT(errors_of("", {}, {{"--cache", "redis://h"}}),
              ElementsAre("--cache: a cache works only in front of a postgres store"));
  EXPECT_THAT(errors_of("defaults: 1", {{"ONCEWARD_DEFAULTS_TTL", "1h"}}),
              ElementsAre("f:1:11: 'defaults': expected a section, found a value"));
}

TEST(ConfigOverrides, NoTwoSettingsShareAVariable) {
  // A map would hide a clash, so count the settings of the effective configuration instead: each scalar
  // and simple list outside of lists must have a variable of its own.
  const boost::json::value json = boost::json::parse(effective_json(load(everything)));
  std::vector<std::string> expected;
  const auto walk = [&](const auto& self, const boost::json::value& value, const std::string& name) -> void {
    if (name == "ONCEWARD_OPERATIONS" || name == "ONCEWARD_CONSUMERS") return;
    if (!value.is_object()) {
      expected.push_back(name);
      return;
    }
    for (const auto& [key, inner] : value.as_object()) {
      std::string upper(key);
      for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      self(self, inner, name.empty() ? "ONCEWARD_" + upper : name + "_" + upper);
    }
  };
  walk(walk, json, "");
  expected.insert(expected.end(), {"ONCEWARD_UPSTREAM", "ONCEWARD_API", "ONCEWARD_DURABILITY"});
  std::ranges::sort(expected);
  expected.erase(std::ranges::unique(expected).begin(), expected.end());
  EXPECT_EQ(environment_names(), expected);
}

TEST(ConfigSupport, WhatThisBuildCannotDoIsNamed) {
  EXPECT_THAT(unsupported_features(load("security: { encrypt: keys.yaml }")),
              ElementsAre("security.encrypt is not supported by this build"));
  EXPECT_EQ(unsupported_features(load(everything)).size(), 2u);
}

}  // namespace
}  // namespace onceward::config
