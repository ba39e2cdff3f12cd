// Every mistake is found, once, where it stands.
#include <gtest/gtest.h>

#include "config/config.hpp"

namespace onceward::config {
namespace {

struct BadConfig {
  const char* text;
  const char* message;  // of the only error: place and how it starts
};

class BadConfigs : public testing::TestWithParam<BadConfig> {};

TEST_P(BadConfigs, AreRefusedWithOneMessageAtTheRightPlace) {
  const auto config =
      load_config({.file_name = "f", .text = GetParam().text, .environment = {}, .flags = {}});
  ASSERT_FALSE(config) << GetParam().text;
  ASSERT_EQ(config.error().messages.size(), 1u) << testing::PrintToString(config.error().messages);
  const std::string& message = config.error().messages[0];
  EXPECT_TRUE(message.starts_with(GetParam().message))
      << "got:      " << message << "\nexpected: " << GetParam().message;
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Syntax, BadConfigs, testing::Values(
    BadConfig{"listen: [", "f:1:10: end of sequence flow not found"},
    BadConfig{"a: b: c", "f:1:5: illegal map value"},
    BadConfig{"workers: 1\nlimits:\n\tmax_request: 1", "f:3:13: illegal map value"},
    BadConfig{"- a", "f:1:1: expected a section, found a list"},
    BadConfig{"just text", "f:1:1: expected a section, found a value"},
    BadConfig{"workers: 1\n---\nworkers: 2", "f:1:1: the file holds more than one document"},
    BadConfig{"workers: !!int 1", "f:1:10: tags are not supported"},
    BadConfig{"[a]: 1", "f:1:1: a key must be plain text"},
    BadConfig{"a: 1\nworkers: \x01", "f:2:10: a control character, or a byte that is not UTF-8"},
    BadConfig{"store: file:\xff", "f:1:13: a control character, or a byte that is not UTF-8"},
    BadConfig{"workers: *x", "f:1:10: the referenced anchor is not defined"}));

INSTANTIATE_TEST_SUITE_P(Keys, BadConfigs, testing::Values(
    BadConfig{"lisen: 127.0.0.1:1", "f:1:1: unknown key 'lisen'; did you mean 'listen'?"},
    BadConfig{"colour: red", "f:1:1: unknown key 'colour'"},
    BadConfig{"defaults:\n  tll: 1h", "f:2:3: unknown key 'tll'; did you mean 'ttl'?"},
    BadConfig{"defaults:\n  key: { requird: true }", "f:2:10: unknown key 'requird'; did you mean 'required'?"},
    BadConfig{"operations:\n  - match: POST /a\n    max_retries: 1", "f:3:5: unknown key 'max_retries'"},
    BadConfig{"defaults:\n  probe: {}", "f:2:3: unknown key 'probe'"},
    BadConfig{"workers: 1\nworkers: 2", "f:2:1: duplicate key 'workers', first set in line 1"},
    BadConfig{"defaults:\n  ttl: 1h\n  ttl: 1h", "f:3:3: duplicate key 'ttl', first set in line 2"},
    BadConfig{"limits: { max_request: 1KiB, max_request: 2KiB }", "f:1:30: duplicate key 'max_request'"},
    BadConfig{"workers:", "f:1:1: 'workers' has no value"},
    BadConfig{"store: ~", "f:1:1: 'store' has no value"}));

INSTANTIATE_TEST_SUITE_P(Types, BadConfigs, testing::Values(
    BadConfig{"workers: 010", "f:1:10: expected a whole number, found '010'"},
    BadConfig{"workers: '4'", "f:1:10: expected a whole number, found '4'"},
    BadConfig{"workers: 0x10", "f:1:10: expected a whole number"},
    BadConfig{"workers: -1", "f:1:10: expected a whole number, found '-1'"},
    BadConfig{"workers: 1.0", "f:1:10: expected a whole number"},
    BadConfig{"workers: 99999999999999999999999", "f:1:10: expected a whole number"},
    BadConfig{"workers: 2000", "f:1:10: must be from 0 to 1024, found '2000'"},
    BadConfig{"workers: [1]", "f:1:10: 'workers': expected a value, found a list"},
    BadConfig{"workers: {a: 1}", "f:1:10: 'workers': expected a value, found a section"},
    BadConfig{"defaults: 1", "f:1:11: 'defaults': expected a section, found a value"},
    BadConfig{"defaults: []", "f:1:11: 'defaults': expected a section, found a list"},
    BadConfig{"operations: {}", "f:1:13: 'operations': expected a list of sections, found a section"},
    BadConfig{"operations: [POST]", "f:1:14: expected a section, found a value"},
    BadConfig{"defaults:\n  key: { required: yes }", "f:2:20: expected true or false, found 'yes'"},
    BadConfig{"defaults:\n  key: { required: 'true' }", "f:2:20: expected true or false, found 'true'"},
    BadConfig{"defaults:\n  key: { strict: TRUE }", "f:2:18: expected true or false, found 'TRUE'"},
    BadConfig{"defaults:\n  fingerprint: { ignore: /a }", "f:2:26: 'ignore': expected a list, found a value"},
    BadConfig{"defaults:\n  fingerprint: { ignore: [[/a]] }", "f:2:27: expected a value, found a list"}));

INSTANTIATE_TEST_SUITE_P(DurationsAndSizes, BadConfigs, testing::Values(
    BadConfig{"defaults: { ttl: 0s }", "f:1:18: must be greater than zero, found '0s'"},
    BadConfig{"defaults: { ttl: -5m }", "f:1:18: must be greater than zero, found '-5m'"},
    BadConfig{"defaults: { lease: 0ms }", "f:1:20: must be greater than zero, found '0ms'"},
    BadConfig{"defaults: { lease: -1s }", "f:1:20: must be greater than zero, found '-1s'"},
    BadConfig{"defaults: { receipt_ttl: -1s }", "f:1:26: must not be negative, found '-1s'"},
    BadConfig{"defaults: { ttl: 24 }", "f:1:18: expected a duration such as 500ms, 30s, 10m, 24h or 7d, found '24'"},
    BadConfig{"defaults: { ttl: 1.5h }", "f:1:18: expected a duration"},
    BadConfig{"defaults: { ttl: 1 h }", "f:1:18: expected a duration"},
    BadConfig{"defaults: { ttl: 1w }", "f:1:18: expected a duration"},
    BadConfig{"defaults: { ttl: 1H }", "f:1:18: expected a duration"},
    BadConfig{"defaults: { ttl: h }", "f:1:18: expected a duration"},
    BadConfig{"defaults: { ttl: 01h }", "f:1:18: expected a duration"},
    BadConfig{"defaults: { ttl: 99999999999999999d }", "f:1:18: expected a duration"},
    BadConfig{"defaults: { ttl: 40000d }", "f:1:18: must be at most 36500d, found '40000d'"},
    BadConfig{"defaults: { ttl: '' }", "f:1:18: expected a duration"},
    BadConfig{"limits: { max_request: 1MB }", "f:1:24: expected a size such as 64KiB or 10MiB, found '1MB'"},
    BadConfig{"limits: { max_request: 0 }", "f:1:24: must be from 1 to 1GiB, found '0'"},
    BadConfig{"limits: { max_request: 2GiB }", "f:1:24: must be from 1 to 1GiB, found '2GiB'"},
    BadConfig{"limits: { max_request: -1KiB }", "f:1:24: expected a size"},
    BadConfig{"limits: { header_bytes: 100 }", "f:1:25: must be from 1KiB to 1MiB, found '100'"},
    BadConfig{"audit_ttl: 0d", "f:1:12: must be greater than zero, found '0d'"}));

INSTANTIATE_TEST_SUITE_P(Addresses, BadConfigs, testing::Values(
    BadConfig{"listen: 8080", "f:1:9: expected HOST:PORT, such as 127.0.0.1:8080, found '8080'"},
    BadConfig{"listen: ':8080'", "f:1:9: the host is missing"},
    BadConfig{"listen: 127.0.0.1:70000", "f:1:9: not a port: '70000'"},
    BadConfig{"listen: 127.0.0.1:http", "f:1:9: not a port: 'http'"},
    BadConfig{"listen: '::1:80'", "f:1:9: an IPv6 address is written in brackets"},
    BadConfig{"listen: '[::1:80'", "f:1:9: the IPv6 address lacks its ']'"},
    BadConfig{"listen: 'a b:80'", "f:1:9: not a host name or address: 'a b'"},
    BadConfig{"listen: []", "f:1:9: at least one address is needed"},
    BadConfig{"listen: [127.0.0.1:1, 127.0.0.1:1]", "f:1:23: '127.0.0.1:1' is listed twice"},
    BadConfig{"upstream: localhost:9000", "f:1:11: expected http://HOST:PORT or https://HOST:PORT, found 'localhost:9000'"},
    BadConfig{"upstream: ftp://h", "f:1:11: expected http://HOST:PORT"},
    BadConfig{"upstream: http://", "f:1:11: the host is missing"},
    BadConfig{"upstream: http://h/api", "f:1:11: the URL may not contain a path or a query"},
    BadConfig{"upstream: http://u:p@h", "f:1:11: the URL may not contain a user or a password"},
    BadConfig{"upstream: http://h:0", "f:1:11: port 0 cannot be connected to"},
    BadConfig{"upstream: { url: 'http://h', timeout: 0s }", "f:1:39: must be greater than zero"},
    BadConfig{"upstream: { url: 'http://h', max_connections: 0 }", "f:1:47: must be from 1 to 65535, found '0'"},
    BadConfig{"upstream: { url: 'http://h', ca_file: ca.pem }", "f:1:39: ca_file needs an https upstream"},
    BadConfig{"store: sqlite:x", "f:1:8: expected memory, file:DIR, redis://"},
    BadConfig{"store: 'file:'", "f:1:8: the folder is missing after 'file:'"},
    BadConfig{"store: redis://", "f:1:8: the address is missing after 'redis://'"},
    BadConfig{"durability: sync", "f:1:13: expected disk or process, found 'sync'"},
    BadConfig{"store: memory\ndurability: process", "f:2:13: durability: process applies to a file: store only"},
    BadConfig{"store: redis+cluster://h\noutbox: {sink: 'amqp://h'}\noperations: [{name: a, match: POST /a, "
              "unique: {name: u, fields: [/a]}}]",
              "f:1:8: a Redis cluster cannot keep what must change together with a record (unique, outbox): use "
              "one server, sentinels or PostgreSQL"},
    BadConfig{"cache: redis://h", "f:1:8: a cache works only in front of a postgres store"},
    BadConfig{"store: redis://h\ncache: redis://h", "f:2:8: a cache works only in front of a postgres store"},
    BadConfig{"store: postgres://h\ncache: memory", "f:2:8: expected redis://"},
    BadConfig{"api: 0.0.0.0:9180", "f:1:6: an address other than loopback needs tls and token_file"},
    BadConfig{"api: 127.0.0.1.example.org:9180", "f:1:6: an address other than loopback needs tls and token_file"},
    BadConfig{"api: { listen: '10.0.0.1:1', token_file: t }", "f:1:16: an address other than loopback needs tls and token_file"},
    BadConfig{"tls: { cert: c }", "f:1:6: 'key' is missing"},
    BadConfig{"tls: { cert: c, key: '' }", "f:1:22: must not be empty"}));

INSTANTIATE_TEST_SUITE_P(Identity, BadConfigs, testing::Values(
    BadConfig{"identity: { tenant: { from: cookie:t } }", "f:1:29: expected header:NAME, jwt:/pointer or none, found 'cookie:t'"},
    BadConfig{"identity: { tenant: { from: 'header:' } }", "f:1:29: a name is missing or not valid after 'header:'"},
    BadConfig{"identity: { tenant: { from: none, required: true } }", "f:1:45: a tenant cannot be required"},
    BadConfig{"identity: { tenant: { format: guid } }", "f:1:31: expected any or uuid, found 'guid'"},
    BadConfig{"identity: { caller: { from: token } }", "f:1:29: expected authorization, jwt:/pointer"},
    BadConfig{"identity: { caller: { from: jwt:sub } }", "f:1:29: a JSON pointer begins with '/', found 'sub'"},
    BadConfig{"identity: { caller: { from: jwt:/sub } }", "f:1:13: an identity from jwt needs identity.jwt"},
    BadConfig{"identity: { caller: { from: certificate } }", "f:1:1: a caller from its certificate needs tls.client_ca"},
    BadConfig{"identity: { jwt: { issuer: x } }", "f:1:18: 'keys' is missing"},
    BadConfig{"identity: { jwt: { keys: k, algorithms: [none] } }", "f:1:42: expected RS256, RS384"},
    BadConfig{"identity: { jwt: { keys: k, algorithms: [] } }", "f:1:41: at least one algorithm is needed"},
    BadConfig{"quotas: { burst: 5 }", "f:1:18: burst needs new_keys_per_second"}));

INSTANTIATE_TEST_SUITE_P(Policies, BadConfigs, testing::Values(
    BadConfig{"defaults: { mode: on }", "f:1:19: expected enforce, observe or off, found 'on'"},
    BadConfig{"defaults: { mode: enforced }", "f:1:19: expected enforce, observe or off, found 'enforced'; did you mean 'enforce'?"},
    BadConfig{"defaults: { key: { header: 'a b' } }", "f:1:28: expected the name of a header, found 'a b'"},
    BadConfig{"defaults: { key: { max_length: 256 } }", "f:1:32: must be from 1 to 255, found '256'"},
    BadConfig{"defaults: { key: { max_length: 0 } }", "f:1:32: must be from 1 to 255, found '0'"},
    BadConfig{"defaults: { key: { from: body } }", "f:1:26: expected header, json:/pointer, content or header:NAME, found 'body'"},
    BadConfig{"defaults: { key: { from: 'json:id' } }", "f:1:26: a JSON pointer begins with '/', found 'id'"},
    BadConfig{"defaults: { mismatch_status: 418 }", "f:1:30: expected 400, 409 or 422, found '418'"},
    BadConfig{"defaults: { lease: 11m }", "f:1:20: lease is longer than max_hold"},
    BadConfig{"defaults: { max_hold: 10s }", "f:1:11: lease is longer than max_hold"},
    BadConfig{"defaults: { in_progress: { wait: 31s } }", "f:1:34: wait is longer than max_wait"},
    BadConfig{"defaults: { in_progress: { then: wait } }", "f:1:34: expected reject or accept, found 'wait'"},
    BadConfig{"defaults: { fingerprint: { ignore: [a] } }", "f:1:37: a JSON pointer begins with '/', found 'a'"},
    BadConfig{"defaults: { fingerprint: { ignore: [/a~2] } }", "f:1:37: not a JSON pointer"},
    BadConfig{"defaults: { fingerprint: { ignore: [/a, /a] } }", "f:1:41: '/a' is listed twice"},
    BadConfig{"defaults: { fingerprint: { mode: raw, ignore: [/a] } }", "f:1:34: mode: raw hashes bytes"},
    BadConfig{"defaults: { outcomes: { retry: [6xx] } }", "f:1:33: expected a status code from 200 to 599 or a class such as 5xx, found '6xx'"},
    BadConfig{"defaults: { outcomes: { retry: [100] } }", "f:1:33: expected a status code from 200 to 599"},
    BadConfig{"defaults: { outcomes: { retry: [1xx] } }", "f:1:33: expected a status code from 200 to 599"},
    BadConfig{"defaults: { outcomes: { retry: [404], replay: [404] } }", "f:1:33: '404' is already listed under replay"},
    BadConfig{"defaults: { outcomes: { retry: [5xx], unknown: [5xx] } }", "f:1:49: '5xx' is already listed under retry"},
    BadConfig{"defaults: { outcomes: { retry: [404, 404] } }", "f:1:38: '404' is listed twice"},
    BadConfig{"defaults: { replay: { status: 201 } }", "f:1:31: expected original or 200, found '201'"},
    BadConfig{"defaults: { on_unknown: retry }", "f:1:25: expected hold, forward or probe, found 'retry'"},
    BadConfig{"defaults: { on_unknown: probe }", "f:1:25: probe can only be chosen by an operation that has a probe"},
    BadConfig{"defaults: { on_store_failure: opne }", "f:1:31: expected closed or open, found 'opne'"}));

INSTANTIATE_TEST_SUITE_P(Operations, BadConfigs, testing::Values(
    BadConfig{"operations:\n  - name: a", "f:2:5: 'match' is missing"},
    BadConfig{"operations:\n  - match: /a", "f:2:12: expected METHOD /path, such as POST /orders, found '/a'"},
    BadConfig{"operations:\n  - match: POST /a/{b*}/c", "f:2:12: {b*} must be the last segment"},
    BadConfig{"operations:\n  - match: post /a", "f:2:12: methods are case-sensitive"},
    BadConfig{"operations:\n  - {name: a, match: POST /a}\n  - {name: a, match: POST /b}", "f:3:12: two operations are called 'a'"},
    BadConfig{"operations:\n  - {match: POST /a}\n  - {name: POST /a, match: POST /b}", "f:3:12: two operations are called 'POST /a'"},
    BadConfig{"operations:\n  - {name: a, match: POST /a}\n  - {name: b, match: POST /a}", "f:3:22: never reached: operation 'a' has the same match"},
    BadConfig{"operations:\n  - {name: default, match: POST /a}", "f:2:12: the name 'default' is reserved"},
    BadConfig{"operations:\n  - {name: '', match: POST /a}", "f:2:12: must not be empty"},
    BadConfig{"operations:\n  - match: POST /a\n    ttl: 0s", "f:3:10: must be greater than zero"},
    BadConfig{"operations:\n  - match: POST /a\n    on_unknown: probe", "f:3:17: on_unknown: probe needs a probe to ask"},
    BadConfig{"operations:\n  - match: POST /a\n    probe: {}", "f:3:12: 'request' is missing"},
    BadConfig{"operations:\n  - match: POST /a\n    probe: { request: GET }", "f:3:23: expected METHOD /path"},
    BadConfig{"operations:\n  - match: POST /a\n    probe: { request: GET /x }", "f:3:23: the request must say which operation"},
    BadConfig{"operations:\n  - match: POST /a\n    probe: { request: 'POST /{key}' }", "f:3:23: a probe is a GET, found 'POST'"},
    BadConfig{"operations:\n  - match: POST /a\n    probe: { request: 'GET /{id}/{key}' }", "f:3:23: '{id}' is none of"},
    BadConfig{"operations:\n  - match: POST /a\n    name: onceward.mine", "f:3:11: names that begin with 'onceward.' are reserved"},
    BadConfig{"probes: { per_second: 0 }", "f:1:23: "},
    BadConfig{"operations:\n  - match: POST /a\n    probe:\n      request: GET /{operation_id", "f:4:16: the braces do not match"},
    BadConfig{"operations:\n  - match: POST /a\n    probe: { request: 'GET /{key}', not_applied: [200] }", "f:3:50: 200 is listed under applied and not_applied"},
    BadConfig{"operations:\n  - match: POST /a\n    probe: { request: 'GET /{key}', give_up: 1s }", "f:3:46: give_up is shorter than every"},
    BadConfig{"operations:\n  - match: POST /a\n    unique: { name: u }", "f:3:13: 'fields' is missing"},
    BadConfig{"operations:\n  - match: POST /a\n    unique: { name: u, fields: [] }", "f:3:24: 'fields' is empty"},
    BadConfig{"operations:\n  - match: POST /a\n    suspect: { fields: [/a], action: block }", "f:3:38: expected flag, reject or replay, found 'block'"},
    BadConfig{"operations:\n  - match: POST /a\n    events: [ { on: done, type: t } ]", "f:3:21: expected succeeded or failed, found 'done'"},
    BadConfig{"operations:\n  - match: POST /a\n    events: [ { on: unknown, type: t } ]", "f:3:21: expected succeeded or failed, found 'unknown'"},
    BadConfig{"operations:\n  - match: POST /a\n    events: [ { type: a b } ]", "f:3:23: an event's type is made of visible ASCII characters"},
    BadConfig{"operations:\n  - match: POST /a\n    events: [ { type: t }, { type: t } ]\noutbox: { sink: http://h/ }", "f:3:13: the event 't' is listed twice"},
    BadConfig{"operations:\n  - match: POST /a\n    events: [ { type: t } ]", "f:2:3: events need an outbox.sink to be sent to"},
    BadConfig{"outbox: { sink: http://h/, backoff: 2s, max_backoff: 1s }", "f:1:54: max_backoff is shorter than backoff"},
    BadConfig{"outbox: { sink: http://h/, timeout: 31s }", "f:1:37: outbox.timeout is at most 30s"},
    BadConfig{"operations:\n  - match: POST /a\n    bulk: { items: /i, id: id, request: POST /x }", "f:3:28: a JSON pointer begins with '/'"},
    BadConfig{"operations:\n  - match: POST /a\n    bulk: { items: /i, id: /id, request: 'POST /x/{key}' }", "f:3:42: '{key}' is not a {/pointer} into the item"},
    BadConfig{"operations:\n  - match: POST /a\n    bulk: { items: /i, id: /id, request: POST /x, max_items: 0 }", "f:3:62: "},
    BadConfig{"operations:\n  - match: POST /a\n    mode: observe\n    bulk: { items: /i, id: /id, request: POST /x }", "f:3:11: a bulk request cannot be observed: use enforce or off"},
    BadConfig{"defaults: { mode: observe }\noperations:\n  - match: POST /a\n    bulk: { items: /i, id: /id, request: POST /x }", "f:3:5: a bulk request cannot be observed: use enforce or off"},
    BadConfig{"operations:\n  - name: a\n    match: POST /a\n    bulk: { items: /i, id: /id, request: POST /x }\n  - { match: POST /b, name: a.item }", "f:5:29: two operations are called 'a.item'"},
    BadConfig{"operations:\n  - match: POST /a\n    reference: order", "f:3:16: expected /pointer or header:NAME, found 'order'"},
    BadConfig{"operations:\n  - match: POST /a\n    reference: 'header:'", "f:3:16: a name is missing or not valid after 'header:'"},
    BadConfig{"outbox: { sink: smtp://h }", "f:1:17: expected amqp://, amqps://"},
    BadConfig{"consumers: [ { from: amqp://h, to: 'http://h', id: 'header:x' } ]", "f:1:36: expected METHOD URL"},
    BadConfig{"consumers: [ { from: amqp://h, to: POST http://h, id: x } ]", "f:1:55: expected message-id, header:NAME, json:/pointer or content, found 'x'"},
    BadConfig{"consumers: [ { from: 'amqp://', to: POST http://h, id: 'header:x' } ]", "f:1:22: the address is missing"}));
// clang-format on

std::vector<std::string> errors_of(const ConfigSources& sources) {
  const auto config = load_config(sources);
  return config ? std::vector<std::string>{} : config.error().messages;
}

TEST(ConfigErrors, AllOfThemAreReportedInTheOrderOfTheFile) {
  EXPECT_EQ(
      errors_of(
          {.file_name = "f",
           .text = "workers: x\noperations:\n  - match: bad\n    ttl: 0s\ndefaults:\n  lease: -1s\n  a: b\n",
           .environment = {{"ONCEWARD_NOPE", "1"}},
           .flags = {{"--store", "tape"}}}),
      (std::vector<std::string>{
          "f:1:10: expected a whole number, found 'x'",
          "f:3:12: expected METHOD /path, such as POST /orders, found 'bad'",
          "f:4:10: must be greater than zero, found '0s'",
          "f:6:10: must be greater than zero, found '-1s'",
          "f:7:3: unknown key 'a'",
          "--store: expected memory, file:DIR, redis://… (or rediss, redis+sentinel, redis+cluster) or "
          "postgres://…, found 'tape'",
          "ONCEWARD_NOPE: no such setting",
      }));
}

TEST(ConfigErrors, OneMistakeDoesNotCauseASecondMessage) {
  EXPECT_EQ(
      errors_of(
          {.file_name = "f", .text = "store: postgre://h\ncache: redis://h", .environment = {}, .flags = {}})
          .size(),
      1u);
}

TEST(ConfigErrors, AliasesThatMultiplyAreRefused) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) text += (j == 0 ? "" : ", ") + before;
    text += "]\n";
  }
  const auto errors = errors_of({.file_name = "f", .text = text, .environment = {}, .flags = {}});
  ASSERT_FALSE(errors.empty());
  EXPECT_TRUE(errors[0].ends_with("the document is too large")) << errors[0];
}

TEST(ConfigErrors, AFileThatCannotBeReadIsNamed) {
  const auto config = load_config_file("/nonexistent/onceward.yaml", {});
  ASSERT_FALSE(config);
  EXPECT_EQ(
      config.error().messages,
      std::vector<std::string>{"/nonexistent/onceward.yaml: cannot be read: No such file or directory"});
}

}  // namespace
}  // namespace onceward::config
