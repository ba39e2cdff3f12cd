#include "config/config_consumer.hpp"

#include <algorithm>

#include "config/config_codec.hpp"
#include "config/config_schema.hpp"

namespace onceward::config {
namespace {

constexpr std::string_view queue_schemes[] = {"amqp", "amqps", "redis", "rediss", "kafka"};

// The queue or stream that the URL's query names, or the topic that its path does.
std::string place_of(std::string_view url) {
  const std::string_view query = url.substr(std::min(url.find('?'), url.size()));
  for (const std::string_view option : {"queue=", "stream="}) {
    for (std::size_t at = query.find(option); at != std::string_view::npos; at = query.find(option, at + 1)) {
      if (query[at - 1] != '?' && query[at - 1] != '&') continue;
      const std::string_view value = query.substr(at + option.size());
      return std::string(value.substr(0, value.find('&')));
    }
  }
  const std::string_view address = url.substr(0, url.size() - query.size());
  return std::string(address.substr(address.rfind('/') + 1));
}

// A handler that fails says so with any 5xx, and expects to be asked again.
Policy policy_for_messages(const Policy& defaults) {
  Policy policy = defaults;
  policy.mode = Mode::enforce;
  policy.on_store_failure = OnStoreFailure::closed;
  for (int status = 500; status < 600; ++status) {
    if (policy.outcomes.of(status) == OutcomeClass::replay) policy.outcomes.set(status, OutcomeClass::retry);
  }
  return policy;
}

void describe_consumer(Fields& fields, ConsumerConfig& consumer) {
  fields.setting("name", optional_text(consumer.name, TextCodec{255}));
  fields.setting("from", required(value(consumer.from, UriCodec{queue_schemes})));
  fields.setting("to", required(value(consumer.to, ConsumerTargetCodec{})));
  fields.setting("id", required(value(consumer.id, MessageIdCodec{})));
  fields.setting("attempts", value(consumer.attempts, CountCodec{1, 1000}));
  fields.setting("backoff", value(consumer.backoff, DurationCodec{.max = std::chrono::hours(1)}));
  fields.setting("dead_letter", optional_text(consumer.dead_letter, TextCodec{255}));
  fields.setting("concurrency", value(consumer.concurrency, CountCodec{1, 10'000}));
  fields.setting("timeout", value(consumer.timeout, DurationCodec{.max = std::chrono::days(1)}));
  fields.setting("ttl", value(consumer.policy.ttl, DurationCodec{}));
  fields.setting("receipt_ttl", value(consumer.policy.receipt_ttl, DurationCodec{.min = Duration(0)}));
  fields.setting("lease", value(consumer.policy.lease, DurationCodec{.max = std::chrono::days(1)}));
  fields.setting("max_hold", value(consumer.policy.max_hold, DurationCodec{.max = std::chrono::days(30)}));
  fields.section("outcomes", part(consumer.policy.outcomes, describe_outcomes));
  fields.setting("on_unknown", value(consumer.policy.on_unknown, one_of<OnUnknown>("hold", "forward")));
  fields.rule({"lease", "max_hold"}, [&consumer]() -> std::string {
    return consumer.policy.lease > consumer.policy.max_hold ? "lease is longer than max_hold" : "";
  });
}

}  // namespace

SectionList consumers(Config& config) {
  return {[&config] { config.consumers.emplace_back().policy = policy_for_messages(config.defaults); },
          [&config] { return config.consumers.size(); },
          [&config](Fields& fields, std::size_t i) {
            ConsumerConfig& consumer = config.consumers[i];
            describe_consumer(fields, consumer);
            const std::span earlier(config.consumers.data(), i);
            fields.rule({"name", "from"}, [earlier, &consumer]() -> std::string {
              if (consumer.name.empty()) consumer.name = place_of(consumer.from);
              if (consumer.name.empty()) return "the queue, stream or topic is missing";
              const bool taken =
                  std::ranges::find(earlier, consumer.name, &ConsumerConfig::name) != earlier.end();
              return taken ? "two consumers are called '" + consumer.name + "': give one of them a name" : "";
            });
          }};
}

}  // namespace onceward::config
