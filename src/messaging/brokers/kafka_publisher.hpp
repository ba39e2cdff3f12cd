// KafkaPublisher: messages to one topic by an idempotent producer with acks=all; a message counts as
// delivered when its delivery report says so. One thread at a time.
#pragma once

#include <memory>
#include <string>

#include "messaging/brokers/kafka_options.hpp"
#include "messaging/brokers/publisher.hpp"

namespace onceward::messaging {

class KafkaPublisher final : public Publisher {
 public:
  KafkaPublisher(const KafkaOptions& options, std::string topic);
  ~KafkaPublisher() override;
  std::vector<SendResult> publish(std::span<const OutMessage> batch, MonoTime deadline) override;

 private:
  struct Batch;
  Result<Done> open();
  void send(const OutMessage& message, Batch& batch, std::size_t position);
  static void reported(rd_kafka_t*, const rd_kafka_message_t* message, void*);

  const KafkaOptions options_;
  const std::string topic_;
  KafkaHandle producer_;
};

}  // namespace onceward::messaging
