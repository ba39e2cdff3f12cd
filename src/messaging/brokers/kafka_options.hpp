// How to reach Kafka, from a URL, as settings of librdkafka. Pure.
#pragma once

#include <librdkafka/rdkafka.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "messaging/brokers/broker_url.hpp"

namespace onceward::messaging {

struct KafkaOptions {
  std::string topic;                                          // empty: the URL names none
  std::vector<std::pair<std::string, std::string>> settings;  // of librdkafka
};

// `more` are options of the URL that somebody else reads. With a user the broker is asked to know us (SASL);
// ?tls=true or any of ca, cert and key make it TLS.
Result<KafkaOptions> kafka_options(const BrokerUrl& url, std::initializer_list<std::string_view> more);

struct FreeKafka {
  void operator()(rd_kafka_t* handle) const { rd_kafka_destroy(handle); }
  void operator()(rd_kafka_conf_t* conf) const { rd_kafka_conf_destroy(conf); }
};
using KafkaHandle = std::unique_ptr<rd_kafka_t, FreeKafka>;
using KafkaConf = std::unique_ptr<rd_kafka_conf_t, FreeKafka>;

// Later settings win.
Result<KafkaConf> kafka_conf(const std::vector<std::pair<std::string, std::string>>& settings);
Result<KafkaHandle> kafka_open(rd_kafka_type_t type, KafkaConf conf);

}  // namespace onceward::messaging
