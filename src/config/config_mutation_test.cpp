// Whatever the file holds, loading ends, and what loads prints to something that loads to the same.
#include <gtest/gtest.h>

#include <random>

#include "config/config.hpp"

namespace onceward::config {
namespace {

constexpr std::string_view seed_text = R"(listen: [127.0.0.1:8080, '[::1]:80']
upstream: { url: 'http://127.0.0.1:9000', timeout: 30s }
store: file:./data
identity: { tenant: { from: header:X-Tenant-ID, required: false }, caller: { from: cookie:c } }
limits: { max_request: 1MiB, header_timeout: 10s }
defaults: &d
  key: { header: Idempotency-Key, required: true, max_length: 255, from: 'json:/a~1b' }
  ttl: 24h
  outcomes: { replay: [404], retry: [5xx, 409], unknown: [501] }
  fingerprint: { ignore: [/a, "/b c"], headers: [X-A] }
operations:
  - name: "pay \"x\" \u00e9"
    match: POST /payments/{id}
    probe: { request: 'GET /p/{operation_id}', applied: [200] }
    events: [ { on: succeeded, type: made } ]
outbox: { sink: amqp://h?x=y }
)";

std::string mutated(std::mt19937& random) {
  std::string text(seed_text);
  constexpr std::string_view interesting = "\n\t :,-?[]{}#&*!|>'\"%@`~/0x9\\\xff\xc3";
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (std::size_t i = 0, changes = 1 + below(2); i < changes; ++i) {
    const std::size_t at = below(text.size());
    switch (below(4)) {
      case 0:
        text[at] = interesting[below(interesting.size())];
        break;
      case 1:
        text.insert(at, 1, interesting[below(interesting.size())]);
        break;
      case 2:
        text.erase(at, 1 + below(8));
        break;
      default:
        text.insert(at, std::string(seed_text.substr(below(seed_text.size()), below(40))));
    }
  }
  return text;
}

std::expected<Config, ConfigErrors> load(const std::string& text) {
  return load_config({.file_name = "f", .text = text, .environment = {}, .flags = {}});
}

TEST(ConfigMutations, EndInErrorsOrInAConfigThatRoundTrips) {
  constexpr std::uint32_t seed = 20240229;
  std::mt19937 random(seed);
  int loaded = 0;
  for (int i = 0; i < 1500; ++i) {
    const std::string text = mutated(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(i) + ":\n" + text);
    const auto config = load(text);
    if (!config) {
      ASSERT_FALSE(config.error().messages.empty());
      continue;
    }
    ++loaded;
    const std::string printed = effective_yaml(*config);
    const auto again = load(printed);
    ASSERT_TRUE(again) << testing::PrintToString(again.error().messages) << "\n" << printed;
    ASSERT_EQ(effective_yaml(*again), printed);
  }
  EXPECT_GT(loaded, 50) << "too few mutations load: the round trip is not being tested";
}

}  // namespace
}  // namespace onceward::config
