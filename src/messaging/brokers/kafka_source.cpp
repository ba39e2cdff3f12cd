#include "messaging/brokers/kafka_source.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>

#include "messaging/brokers/kafka_publisher.hpp"
#include "messaging/brokers/offset_tracker.hpp"

namespace onceward::messaging {
namespace {

constexpr Duration publish_limit{10'000};
constexpr Duration turn_longest{1000};  // between two turns of the library, whatever else happens

MonoTime now() { return std::chrono::steady_clock::now(); }

struct FreeList {
  void operator()(rd_kafka_topic_partition_list_t* list) const {
    rd_kafka_topic_partition_list_destroy(list);
  }
  void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
  void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
};
using PartitionList = std::unique_ptr<rd_kafka_topic_partition_list_t, FreeList>;

Error failed(const std::string& what, rd_kafka_resp_err_t why) {
  return {Errc::unavailable, "kafka: " + what + ": " + rd_kafka_err2str(why)};
}

std::string text(const void* data, std::size_t size) {
  return data ? std::string(static_cast<const char*>(data), size) : std::string();
}

Message message_of(const rd_kafka_message_t& from) {
  Message message;
  message.key = text(from.key, from.key_len);
  message.body = text(from.payload, from.len);
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&from, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    for (std::size_t i = 0;
         rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; ++i) {
      const std::string_view header(name);
      if (header == "id") {
        message.id = text(value, size);
      } else if (header == "type") {
        message.type = text(value, size);
      } else if (header == "content-type") {
        message.content_type = text(value, size);
      } else {
        message.headers.emplace_back(name, text(value, size));
      }
    }
  }
  message.delivery.partition = from.partition;
  message.delivery.number = static_cast<std::uint64_t>(from.offset);
  return message;
}

class KafkaSource final : public MessageSource {
 public:
  KafkaSource(KafkaOptions options, std::string group, const std::string& dead_letter)
      : options_(std::move(options)), group_(std::move(group)), publisher_(options_, dead_letter) {}
  ~KafkaSource() override { leave(); }

  const std::string& place() const override { return options_.topic; }

  Result<Done> connect() override {
    leave();
    std::vector<std::pair<std::string, std::string>> settings = {{"group.id", group_},
                                                                 {"client.id", "onceward"},
                                                                 {"enable.auto.commit", "false"},
                                                                 {"enable.auto.offset.store", "false"},
                                                                 {"auto.offset.reset", "earliest"},
                                                                 {"max.poll.interval.ms", "600000"}};
    settings.insert(settings.end(), options_.settings.begin(), options_.settings.end());
    Result<KafkaConf> conf = kafka_conf(settings);
    if (!conf) return conf.error();
    rd_kafka_conf_set_opaque(conf->get(), this);
    rd_kafka_conf_set_rebalance_cb(conf->get(), &KafkaSource::rebalanced);
    Result<KafkaHandle> opened = kafka_open(RD_KAFKA_CONSUMER, std::move(*conf));
    if (!opened) return opened.error();
    consumer_ = std::move(*opened);
    rd_kafka_poll_set_consumer(consumer_.get());
    queue_.reset(rd_kafka_queue_get_consumer(consumer_.get()));
    constexpr std::uint64_t one = 1;
    rd_kafka_queue_io_event_enable(queue_.get(), arrived_.fd(), &one, sizeof one);
    const PartitionList topics(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(topics.get(), options_.topic.c_str(), RD_KAFKA_PARTITION_UA);
    const rd_kafka_resp_err_t subscribed = rd_kafka_subscribe(consumer_.get(), topics.get());
    if (subscribed) return failed("subscribing to '" + options_.topic + "'", subscribed);
    return Done{};
  }

  Result<std::vector<Message>> receive(std::size_t limit, const WakeUp& wake, MonoTime deadline) override {
    std::vector<Message> messages;
    for (;;) {
      const Result<Done> had_its_turn = limit > 0 ? take(limit, messages) : turn_without_room();
      if (!had_its_turn) return had_its_turn.error();
      if (!messages.empty() || now() >= deadline || wait(wake, limit > 0, deadline)) return messages;
    }
  }

  Result<Done> acknowledge(const Delivery& delivery) override {
    const auto found = partitions_.find(delivery.partition);
    if (found == partitions_.end() || found->second.life != delivery.life) return Done{};
    const std::optional<std::int64_t> reached =
        found->second.offsets.end(static_cast<std::int64_t>(delivery.number));
    if (!reached) return Done{};
    const PartitionList list(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(list.get(), options_.topic.c_str(), delivery.partition)->offset =
        *reached;
    constexpr int in_background =
        1;  // a lost commit brings a duplicate, which is none of the service's concern
    const rd_kafka_resp_err_t committed = rd_kafka_commit(consumer_.get(), list.get(), in_background);
    if (committed) return failed("committing", committed);
    return Done{};
  }

  Result<Done> dead_letter(const Message& message, const MessageHeaders& why) override {
    OutMessage letter{message.key,          message.id,   message.type,
                      message.content_type, message.body, message.headers};
    letter.headers.insert(letter.headers.end(), why.begin(), why.end());
    const SendResult sent = publisher_.publish({&letter, 1}, now() + publish_limit)[0];
    if (sent.verdict != SendVerdict::delivered)
      return Error{Errc::unavailable, "the topic for dead letters: " + sent.error};
    return acknowledge(message.delivery);
  }

  void leave() override {
    if (!consumer_) return;
    queue_.reset();
    rd_kafka_consumer_close(consumer_.get());  // commits in the background end first
    consumer_.reset();
    partitions_.clear();
    full_since_.reset();
    paused_ = false;
    early_.clear();
  }

 private:
  struct Partition {
    std::uint64_t life = 0;
    OffsetTracker offsets;
  };

  // Called by the library on our thread, when it has a turn.
  static void rebalanced(rd_kafka_t* consumer, rd_kafka_resp_err_t what,
                         rd_kafka_topic_partition_list_t* list, void* self) {
    auto& source = *static_cast<KafkaSource*>(self);
    ++source.life_;
    for (int i = 0; i < list->cnt; ++i) source.partitions_.erase(list->elems[i].partition);
    if (what == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
      for (int i = 0; i < list->cnt; ++i) source.partitions_[list->elems[i].partition].life = source.life_;
      rd_kafka_assign(consumer, list);
      if (source.paused_) rd_kafka_pause_partitions(consumer, list);
    } else {
      rd_kafka_assign(consumer, nullptr);
    }
  }

  Result<Done> take(std::size_t limit, std::vector<Message>& messages) {
    full_since_.reset();
    if (paused_) {
      if (Result<Done> resumed = pause(false); !resumed) return resumed;
    }
    while (!early_.empty() && messages.size() < limit) {
      messages.push_back(std::move(early_.front()));
      early_.pop_front();
    }
    while (messages.size() < limit) {
      arrived_.clear();
      Result<std::optional<Message>> message = next();
      if (!message) return message.error();
      if (!*message) break;
      messages.push_back(std::move(**message));
    }
    return Done{};
  }

  // The group expels a member that does not ask any more, and without our turns nobody can join or leave it.
  // So we ask, and want nothing. Not at once: what the library has fetched ahead is thrown away by it.
  Result<Done> turn_without_room() {
    if (!full_since_) full_since_ = now();
    if (now() - *full_since_ < turn_longest) return Done{};
    if (!paused_) {
      if (Result<Done> paused = pause(true); !paused) return paused;
    }
    for (;;) {
      Result<std::optional<Message>> message = next();
      if (!message) return message.error();
      if (!*message) return Done{};
      early_.push_back(std::move(**message));
    }
  }

  Result<Done> pause(bool on) {
    const PartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(partitions_.size())));
    for (const auto& [number, partition] : partitions_)
      rd_kafka_topic_partition_list_add(list.get(), options_.topic.c_str(), number);
    const rd_kafka_resp_err_t done = on ? rd_kafka_pause_partitions(consumer_.get(), list.get())
                                        : rd_kafka_resume_partitions(consumer_.get(), list.get());
    if (done) return failed(on ? "pausing" : "resuming", done);
    paused_ = on;
    return Done{};
  }

  Result<std::optional<Message>> next() {
    const std::unique_ptr<rd_kafka_message_t, FreeList> taken(rd_kafka_consumer_poll(consumer_.get(), 0));
    if (!taken || taken->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) return std::optional<Message>();
    if (taken->err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
      return Error{Errc::not_found, "topic '" + options_.topic + "' is not there"};
    if (taken->err) return failed("receiving", taken->err);
    Partition& partition = partitions_[taken->partition];
    Message message = message_of(*taken);
    message.delivery.life = partition.life;
    if (message.id.empty())
      message.id =
          options_.topic + "/" + std::to_string(taken->partition) + "/" + std::to_string(taken->offset);
    partition.offsets.begin(taken->offset);
    return std::optional(std::move(message));
  }

  // True: woken, or the time is over.
  bool wait(const WakeUp& wake, bool wants_messages, MonoTime deadline) const {
    std::array<pollfd, 2> both = {pollfd{wake.fd(), POLLIN, 0}, pollfd{arrived_.fd(), POLLIN, 0}};
    const auto left = std::chrono::ceil<Duration>(std::min(deadline, now() + turn_longest) - now());
    ::poll(both.data(), wants_messages ? 2 : 1, static_cast<int>(std::max(left, Duration::zero()).count()));
    if (both[0].revents == 0) return false;
    wake.clear();
    return true;
  }

  const KafkaOptions options_;
  const std::string group_;
  KafkaPublisher publisher_;
  WakeUp arrived_;  // by the library: there is something in its queue
  KafkaHandle consumer_;
  std::unique_ptr<rd_kafka_queue_t, FreeList> queue_;
  std::map<std::int32_t, Partition> partitions_;
  std::uint64_t life_ = 0;
  std::optional<MonoTime> full_since_;  // when there was no room for a message first
  bool paused_ = false;                 // the library was told so
  std::deque<Message> early_;           // came all the same
};

}  // namespace

Result<std::unique_ptr<MessageSource>> make_kafka_source(const BrokerUrl& address,
                                                         const SourceOptions& options) {
  Result<KafkaOptions> kafka = kafka_options(address, {"group"});
  if (!kafka) return kafka.error();
  if (kafka->topic.empty()) return Error{Errc::invalid, "kafka://…: the topic is missing"};
  const std::string group = address.option("group").value_or("");
  if (group.empty()) return Error{Errc::invalid, "kafka://…: ?group=NAME is missing"};
  const std::string dead_letter = options.dead_letter.empty() ? kafka->topic + ".dead" : options.dead_letter;
  return make_kafka_source(std::move(*kafka), group, dead_letter);
}

std::unique_ptr<MessageSource> make_kafka_source(KafkaOptions options, const std::string& group,
                                                 const std::string& dead_letter) {
  return std::make_unique<KafkaSource>(std::move(options), group, dead_letter);
}

}  // namespace onceward::messaging
