// Messages of a RabbitMQ queue: prefetched, acknowledged by hand. The queue must be there; the queue of dead
// letters is made, durable, if it is not.
#pragma once

#include "messaging/brokers/broker_url.hpp"
#include "messaging/brokers/message_source.hpp"

namespace onceward::messaging {

Result<std::unique_ptr<MessageSource>> make_rabbitmq_source(const BrokerUrl& address,
                                                            const SourceOptions& options);

}  // namespace onceward::messaging
