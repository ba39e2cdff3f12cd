// Publisher: hands messages to a broker and learns of each whether the broker has it for good. For the
// outbox's events and for dead letters alike. One thread at a time; calls block.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messaging/event_sink.hpp"

namespace onceward::messaging {

using MessageHeaders = std::vector<std::pair<std::string, std::string>>;

struct OutMessage {
  std::string route;  // RabbitMQ: the routing key. Kafka: the key, by which messages keep their order
  std::string id;
  std::string type;
  std::string content_type;
  std::string body;
  MessageHeaders headers;
};

class Publisher {
 public:
  virtual ~Publisher() = default;
  // One result per message, in their order. Connects when it has to. Nothing is sent after the deadline.
  virtual std::vector<SendResult> publish(std::span<const OutMessage> batch, MonoTime deadline) = 0;
};

}  // namespace onceward::messaging
