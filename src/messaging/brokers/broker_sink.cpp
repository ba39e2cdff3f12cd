#include "messaging/brokers/broker_sink.hpp"

#include "base/hex.hpp"
#include "messaging/brokers/broker_url.hpp"
#include "messaging/brokers/kafka_publisher.hpp"
#include "messaging/brokers/rabbitmq_publisher.hpp"

namespace onceward::messaging {
namespace {

enum class RouteBy { type, scope };

class BrokerSink final : public EventSink {
 public:
  BrokerSink(std::unique_ptr<Publisher> publisher, RouteBy route)
      : publisher_(std::move(publisher)), route_(route) {}

  std::vector<SendResult> send(std::span<const PendingEvent> batch, MonoTime deadline) override {
    std::vector<OutMessage> messages;
    messages.reserve(batch.size());
    for (const PendingEvent& pending : batch) {
      const Event& event = pending.event;
      std::string route = route_ == RouteBy::type ? event.type : to_hex(pending.scope.data);
      messages.push_back({std::move(route), event.id, event.type, event.content_type, event.payload, {}});
    }
    return publisher_->publish(messages, deadline);
  }

 private:
  const std::unique_ptr<Publisher> publisher_;
  const RouteBy route_;
};

}  // namespace

bool is_broker_scheme(std::string_view scheme) {
  return scheme == "amqp" || scheme == "amqps" || scheme == "kafka";
}

Result<std::unique_ptr<EventSink>> open_broker_sink(const std::string& url, const std::string& exchange) {
  const Result<BrokerUrl> parsed = parse_broker_url(url);
  if (!parsed) return parsed.error();
  if (parsed->scheme == "kafka") {
    Result<KafkaOptions> options = kafka_options(*parsed, {});
    if (!options) return options.error();
    if (options->topic.empty()) return Error{Errc::invalid, "kafka://…: the topic is missing"};
    return std::unique_ptr<EventSink>(std::make_unique<BrokerSink>(
        std::make_unique<KafkaPublisher>(*options, options->topic), RouteBy::scope));
  }
  Result<AmqpOptions> options = amqp_options(*parsed, {});
  if (!options) return options.error();
  return std::unique_ptr<EventSink>(std::make_unique<BrokerSink>(
      std::make_unique<RabbitmqPublisher>(std::move(*options), exchange), RouteBy::type));
}

}  // namespace onceward::messaging
