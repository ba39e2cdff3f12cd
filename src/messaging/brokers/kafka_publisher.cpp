#include "messaging/brokers/kafka_publisher.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace onceward::messaging {
namespace {

MonoTime now() { return std::chrono::steady_clock::now(); }

bool is_hopeless(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE || error == RD_KAFKA_RESP_ERR_INVALID_MSG ||
         error == RD_KAFKA_RESP_ERR_INVALID_RECORD || error == RD_KAFKA_RESP_ERR__INVALID_ARG;
}

SendResult failed(rd_kafka_resp_err_t error) {
  return {is_hopeless(error) ? SendVerdict::poison : SendVerdict::retry,
          std::string("kafka: ") + rd_kafka_err2str(error)};
}

rd_kafka_headers_t* headers_of(const OutMessage& message) {
  rd_kafka_headers_t* headers = rd_kafka_headers_new(message.headers.size() + 3);
  const auto add = [headers](const std::string& name, const std::string& value) {
    rd_kafka_header_add(headers, name.data(), static_cast<ssize_t>(name.size()), value.data(),
                        static_cast<ssize_t>(value.size()));
  };
  add("id", message.id);
  if (!message.type.empty()) add("type", message.type);
  if (!message.content_type.empty()) add("content-type", message.content_type);
  for (const auto& [name, value] : message.headers) add(name, value);
  return headers;
}

}  // namespace

struct KafkaPublisher::Batch {
  struct Slot {
    Batch* batch;
    std::size_t position;
  };
  explicit Batch(std::size_t size) : results(size) {
    for (std::size_t i = 0; i < size; ++i) slots.push_back({this, i});
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  std::vector<SendResult> results;
  std::vector<Slot> slots;  // what the reports point at
  std::size_t open = 0;     // given to the producer and not reported
};

KafkaPublisher::KafkaPublisher(const KafkaOptions& options, std::string topic)
    : options_(options), topic_(std::move(topic)) {}
KafkaPublisher::~KafkaPublisher() = default;

Result<Done> KafkaPublisher::open() {
  if (producer_) return Done{};
  std::vector<std::pair<std::string, std::string>> settings = options_.settings;
  settings.insert(settings.begin(), {{"linger.ms", "2"}, {"client.id", "onceward"}});
  settings.insert(settings.end(), {{"acks", "all"}, {"enable.idempotence", "true"}});
  Result<KafkaConf> conf = kafka_conf(settings);
  if (!conf) return conf.error();
  rd_kafka_conf_set_dr_msg_cb(conf->get(), &KafkaPublisher::reported);
  Result<KafkaHandle> opened = kafka_open(RD_KAFKA_PRODUCER, std::move(*conf));
  if (!opened) return opened.error();
  producer_ = std::move(*opened);
  return Done{};
}

// Called by rd_kafka_poll, on our thread.
void KafkaPublisher::reported(rd_kafka_t*, const rd_kafka_message_t* message, void*) {
  const auto& slot = *static_cast<const Batch::Slot*>(message->_private);
  Batch& batch = *slot.batch;
  ONCEWARD_ASSERT(batch.open > 0);
  --batch.open;
  batch.results[slot.position] = message->err ? failed(message->err) : SendResult{SendVerdict::delivered, {}};
}

void KafkaPublisher::send(const OutMessage& message, Batch& batch, std::size_t position) {
  rd_kafka_headers_t* headers = headers_of(message);
  // The library's macros for these pairs are no standard C++.
  const rd_kafka_resp_err_t refused = rd_kafka_producev(
      producer_.get(), RD_KAFKA_VTYPE_TOPIC, topic_.c_str(), RD_KAFKA_VTYPE_MSGFLAGS,
      int{RD_KAFKA_MSG_F_COPY}, RD_KAFKA_VTYPE_KEY, message.route.data(), message.route.size(),
      RD_KAFKA_VTYPE_VALUE, message.body.data(), message.body.size(), RD_KAFKA_VTYPE_HEADERS, headers,
      RD_KAFKA_VTYPE_OPAQUE, static_cast<void*>(&batch.slots[position]), RD_KAFKA_VTYPE_END);
  if (refused == RD_KAFKA_RESP_ERR_NO_ERROR) {
    ++batch.open;
    return;
  }
  rd_kafka_headers_destroy(headers);  // still ours when it was refused
  batch.results[position] = failed(refused);
}

std::vector<SendResult> KafkaPublisher::publish(std::span<const OutMessage> messages, MonoTime deadline) {
  Batch batch(messages.size());
  if (messages.empty() || now() >= deadline) return std::move(batch.results);
  if (Result<Done> opened = open(); !opened) {
    std::ranges::fill(batch.results, SendResult{SendVerdict::retry, opened.error().message});
    return std::move(batch.results);
  }
  for (std::size_t i = 0; i < messages.size(); ++i) send(messages[i], batch, i);
  while (batch.open > 0 && now() < deadline) {
    const auto left = std::chrono::ceil<Duration>(deadline - now());
    rd_kafka_poll(producer_.get(), static_cast<int>(std::min(left, Duration(1000)).count()));
  }
  const bool fatal = rd_kafka_fatal_error(producer_.get(), nullptr, 0) != RD_KAFKA_RESP_ERR_NO_ERROR;
  if (batch.open > 0) {
    // Nothing may be sent from here on: what is still with the producer is taken from it, whatever its fate.
    rd_kafka_purge(producer_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    while (batch.open > 0) rd_kafka_poll(producer_.get(), 100);
    for (SendResult& result : batch.results) {
      if (result.verdict == SendVerdict::retry) result.error = "kafka: not acknowledged in time";
    }
    producer_.reset();
  } else if (fatal) {
    producer_.reset();
  }
  return std::move(batch.results);
}

}  // namespace onceward::messaging
