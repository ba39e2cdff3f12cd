// MessageSource: one queue, stream or topic that messages are taken from. Taken messages stay the broker's
// until they are acknowledged: they come again, here or elsewhere, when the connection ends first. One thread
// at a time; calls block. After an error, connect() again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/brokers/publisher.hpp"
#include "messaging/brokers/wake_up.hpp"

namespace onceward::messaging {

// What the broker knows a taken message by. An acknowledgement from an earlier life of the connection means
// nothing to it: the message has come again, or will.
struct Delivery {
  std::uint64_t life = 0;
  std::uint64_t number = 0;
  std::int32_t partition = 0;
  std::string entry;
};

struct Message {
  std::string id;  // given by whoever published it; else, where there is one, by the broker
  std::string type;
  std::string content_type;
  std::string key;  // RabbitMQ: the routing key. Kafka: the message's key
  std::string body;
  MessageHeaders headers;
  Delivery delivery;

  // A header, in any case; or one of message-id, type and content-type.
  std::optional<std::string> find(std::string_view name) const;
};

class MessageSource {
 public:
  virtual ~MessageSource() = default;

  virtual const std::string& place() const = 0;  // the queue's, stream's or topic's name

  // Errc::invalid: what was asked for cannot be there. Errc::not_found: it is not there yet.
  virtual Result<Done> connect() = 0;
  // Some messages, at most `limit`; none when the deadline came or somebody woke us. With a limit of 0 it
  // keeps the connection alive.
  virtual Result<std::vector<Message>> receive(std::size_t limit, const WakeUp& wake, MonoTime deadline) = 0;
  virtual Result<Done> acknowledge(const Delivery& delivery) = 0;
  // Puts it, with these headers besides its own, where dead letters go; acknowledges it once it is safe
  // there.
  virtual Result<Done> dead_letter(const Message& message, const MessageHeaders& why) = 0;
  // The end: what was taken and not acknowledged is free for others.
  virtual void leave() = 0;
};

struct SourceOptions {
  std::string url;
  std::string dead_letter;     // empty: the place's name and ".dead"
  std::size_t unacknowledged;  // messages taken at the same time, at most
};

// amqp(s)://…?queue=Q, redis(s)://…?stream=S&group=G, kafka://…/topic?group=G. Contacts nobody.
// Errc::invalid: what is wrong with the URL.
Result<std::unique_ptr<MessageSource>> make_source(const SourceOptions& options);

}  // namespace onceward::messaging
