#include "messaging/brokers/message_source.hpp"

#include <algorithm>

#include "core/ascii.hpp"
#include "messaging/brokers/kafka_source.hpp"
#include "messaging/brokers/rabbitmq_source.hpp"
#include "messaging/brokers/redis_source.hpp"

namespace onceward::messaging {
namespace {

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}

std::optional<std::string> given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace

std::optional<std::string> Message::find(std::string_view name) const {
  for (const auto& [each, value] : headers) {
    if (equal_ignoring_case(each, name)) return value;
  }
  if (equal_ignoring_case(name, "message-id")) return given(id);
  if (equal_ignoring_case(name, "content-type")) return given(content_type);
  if (equal_ignoring_case(name, "type")) return given(type);
  return std::nullopt;
}

Result<std::unique_ptr<MessageSource>> make_source(const SourceOptions& options) {
  const Result<BrokerUrl> address = parse_broker_url(options.url);
  if (!address) return address.error();
  if (address->scheme == "amqp" || address->scheme == "amqps") return make_rabbitmq_source(*address, options);
  if (address->scheme == "redis" || address->scheme == "rediss") return make_redis_source(*address, options);
  if (address->scheme == "kafka") return make_kafka_source(*address, options);
  return Error{Errc::invalid, "messages cannot be taken from " + address->scheme + "://"};
}

}  // namespace onceward::messaging
