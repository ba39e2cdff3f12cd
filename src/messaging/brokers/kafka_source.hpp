// Messages of a Kafka topic, as a member of a consumer group. A partition's offset is committed as far as all
// its messages have ended. The topic of dead letters is an ordinary one.
#pragma once

#include "messaging/brokers/broker_url.hpp"
#include "messaging/brokers/kafka_options.hpp"
#include "messaging/brokers/message_source.hpp"

namespace onceward::messaging {

Result<std::unique_ptr<MessageSource>> make_kafka_source(const BrokerUrl& address,
                                                         const SourceOptions& options);
std::unique_ptr<MessageSource> make_kafka_source(KafkaOptions options, const std::string& group,
                                                 const std::string& dead_letter);

}  // namespace onceward::messaging
