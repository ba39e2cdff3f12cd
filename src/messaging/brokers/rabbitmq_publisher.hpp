// RabbitmqPublisher: persistent, mandatory messages under publisher confirms. What no queue would take is
// returned by the broker and counts as not delivered. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "messaging/brokers/amqp_connection.hpp"
#include "messaging/brokers/publisher.hpp"

namespace onceward::messaging {

class RabbitmqPublisher final : public Publisher {
 public:
  // An empty exchange is the broker's default one: the route is then a queue's name.
  RabbitmqPublisher(AmqpOptions options, std::string exchange);
  std::vector<SendResult> publish(std::span<const OutMessage> batch, MonoTime deadline) override;

 private:
  struct Batch;
  Result<Done> connect();
  Result<Done> send(const OutMessage& message);
  Result<Done> settle(Batch& batch, MonoTime deadline);
  Result<Done> take(Batch& batch, const amqp_method_t& method);
  Result<Done> returned(Batch& batch, const amqp_basic_return_t& why);

  const AmqpOptions options_;
  const std::string exchange_;
  std::unique_ptr<AmqpConnection> connection_;
  std::uint64_t next_tag_ = 1;
};

}  // namespace onceward::messaging
