// Messages of a Redis stream, as one consumer of a group. What a consumer that died had taken is claimed from
// it after a while; our own is kept from being claimed for as long as we are at work on it.
#pragma once

#include "messaging/brokers/broker_url.hpp"
#include "messaging/brokers/message_source.hpp"

namespace onceward::messaging {

Result<std::unique_ptr<MessageSource>> make_redis_source(const BrokerUrl& address,
                                                         const SourceOptions& options);

}  // namespace onceward::messaging
