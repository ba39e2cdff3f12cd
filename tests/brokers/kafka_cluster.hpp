// KafkaCluster: librdkafka's mock cluster and a test's own hands on it: reads a topic from its beginning.
// Test thread only.
#pragma once

#include <librdkafka/rdkafka.h>
// After the other, which it needs.
#include <librdkafka/rdkafka_mock.h>

#include <string>
#include <vector>

#include "messaging/brokers/kafka_options.hpp"
#include "messaging/brokers/publisher.hpp"

namespace onceward::messaging {

struct KafkaRead {
  std::string key;
  std::string body;
  MessageHeaders headers;
  std::string header(const std::string& name) const {
    for (const auto& [each, value] : headers) {
      if (each == name) return value;
    }
    return {};
  }
};

class KafkaCluster {
 public:
  KafkaCluster()
      : owner_(std::move(*kafka_open(RD_KAFKA_PRODUCER, std::move(*kafka_conf({}))))),
        cluster_(rd_kafka_mock_cluster_new(owner_.get(), 1)) {}
  ~KafkaCluster() { rd_kafka_mock_cluster_destroy(cluster_); }
  KafkaCluster(const KafkaCluster&) = delete;
  KafkaCluster& operator=(const KafkaCluster&) = delete;

  rd_kafka_mock_cluster_t* mock() { return cluster_; }
  std::string servers() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }
  std::string url(const std::string& rest) const { return "kafka://" + servers() + "/" + rest; }
  void topic(const std::string& name, int partitions = 1) {
    rd_kafka_mock_topic_create(cluster_, name.c_str(), partitions, 1);
  }

  // The first `count` messages of a partition, or fewer when they do not come.
  std::vector<KafkaRead> read(const std::string& name, std::size_t count, std::int32_t partition = 0,
                              Duration limit = Duration(30'000)) {
    const KafkaHandle reader = member("reader");
    rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, name.c_str(), partition)->offset = RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_assign(reader.get(), list);
    rd_kafka_topic_partition_list_destroy(list);
    std::vector<KafkaRead> messages;
    const auto end = std::chrono::steady_clock::now() + limit;
    while (messages.size() < count && std::chrono::steady_clock::now() < end) {
      rd_kafka_message_t* message = rd_kafka_consumer_poll(reader.get(), 100);
      if (!message) continue;
      if (!message->err) messages.push_back(taken(*message));
      rd_kafka_message_destroy(message);
    }
    rd_kafka_consumer_close(reader.get());
    return messages;
  }

  // How many messages a partition has.
  std::int64_t length(const std::string& name, std::int32_t partition) {
    const KafkaHandle asker = member("asker");
    std::int64_t first = 0;
    std::int64_t end = 0;
    rd_kafka_query_watermark_offsets(asker.get(), name.c_str(), partition, &first, &end, 10'000);
    rd_kafka_consumer_close(asker.get());
    return end;
  }

  // Where a member of the group that joins now would begin. It is asked for rather than tried: the mock lets
  // nobody into a group that everybody has left.
  std::int64_t committed(const std::string& group, const std::string& name) {
    const KafkaHandle asker = member(group);
    rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, name.c_str(), 0);
    rd_kafka_committed(asker.get(), list, 30'000);
    const std::int64_t offset = list->elems[0].offset;
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_consumer_close(asker.get());
    return offset;
  }

 private:
  KafkaHandle member(const std::string& group) const {
    Result<KafkaConf> conf = kafka_conf({{"bootstrap.servers", servers()}, {"group.id", group}});
    return std::move(*kafka_open(RD_KAFKA_CONSUMER, std::move(*conf)));
  }

  static KafkaRead taken(const rd_kafka_message_t& message) {
    KafkaRead read{{static_cast<const char*>(message.key), message.key_len},
                   {static_cast<const char*>(message.payload), message.len},
                   {}};
    rd_kafka_headers_t* headers = nullptr;
    if (rd_kafka_message_headers(&message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
      const char* name = nullptr;
      const void* value = nullptr;
      std::size_t size = 0;
      for (std::size_t i = 0;
           rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; ++i)
        read.headers.emplace_back(name, std::string(static_cast<const char*>(value), size));
    }
    return read;
  }

  KafkaHandle owner_;
  rd_kafka_mock_cluster_t* cluster_;
};

}  // namespace onceward::messaging
