// BrokerSink: the outbox's events as messages of a broker, RabbitMQ or Kafka. On the relay's sending thread.
#pragma once

#include <memory>
#include <string>

#include "messaging/brokers/publisher.hpp"

namespace onceward::messaging {

bool is_broker_scheme(std::string_view scheme);  // amqp, amqps, kafka

// amqp(s)://…/vhost: to `exchange` under the event's type as the routing key; it must be bound to a queue.
// kafka://host:port/topic: under the hex of the event's scope as the key. Errc::invalid: what is wrong with
// it.
Result<std::unique_ptr<EventSink>> open_broker_sink(const std::string& url, const std::string& exchange);

}  // namespace onceward::messaging
