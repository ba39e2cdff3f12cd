#include "messaging/brokers/rabbitmq_source.hpp"

#include <poll.h>

#include <algorithm>
#include <array>

#include "messaging/brokers/amqp_connection.hpp"
#include "messaging/brokers/amqp_message.hpp"
#include "messaging/brokers/rabbitmq_publisher.hpp"

namespace onceward::messaging {
namespace {

MonoTime now() { return std::chrono::steady_clock::now(); }

class RabbitmqSource final : public MessageSource {
 public:
  RabbitmqSource(const AmqpOptions& options, std::string queue, std::string dead_letter, std::size_t prefetch)
      : options_(options),
        queue_(std::move(queue)),
        dead_letter_(std::move(dead_letter)),
        prefetch_(static_cast<std::uint16_t>(std::min<std::size_t>(prefetch, 65535))),
        publisher_(options, "") {}

  const std::string& place() const override { return queue_; }

  Result<Done> connect() override {
    connection_.reset();
    if (Result<Done> made = make_dead_letter_queue(); !made) return made;
    Result<std::unique_ptr<AmqpConnection>> opened = AmqpConnection::open(options_);
    if (!opened) return opened.error();
    const amqp_connection_state_t state = (*opened)->state();
    amqp_queue_declare(state, channel, bytes_of(queue_), 1, 0, 0, 0, amqp_empty_table);
    if (Result<Done> there = (*opened)->answered("queue '" + queue_ + "'"); !there) return there;
    amqp_basic_qos(state, channel, 0, prefetch_, 0);
    if (Result<Done> limited = (*opened)->answered("setting the prefetch"); !limited) return limited;
    amqp_basic_consume(state, channel, bytes_of(queue_), amqp_empty_bytes, 0, 0, 0, amqp_empty_table);
    if (Result<Done> consuming = (*opened)->answered("consuming from '" + queue_ + "'"); !consuming)
      return consuming;
    connection_ = std::move(*opened);
    ++life_;
    return Done{};
  }

  // The prefetch is the limit: the broker sends no more than that without acknowledgements.
  Result<std::vector<Message>> receive(std::size_t, const WakeUp& wake, MonoTime deadline) override {
    std::vector<Message> messages;
    for (;;) {
      Result<std::optional<Message>> message = next();
      if (!message) return message.error();
      if (*message) {
        messages.push_back(std::move(**message));
        continue;
      }
      // Only when the library has nothing more, its TLS included, does the socket tell of what comes next.
      if (!messages.empty() || now() >= deadline || wait(wake, deadline)) return messages;
    }
  }

  Result<Done> acknowledge(const Delivery& delivery) override {
    if (!connection_ || delivery.life != life_) return Done{};
    const int status = amqp_basic_ack(connection_->state(), channel, delivery.number, 0);
    if (status != AMQP_STATUS_OK)
      return Error{Errc::unavailable, std::string("acknowledging: ") + amqp_error_string2(status)};
    return Done{};
  }

  Result<Done> dead_letter(const Message& message, const MessageHeaders& why) override {
    OutMessage letter{dead_letter_,         message.id,   message.type,
                      message.content_type, message.body, message.headers};
    letter.headers.insert(letter.headers.end(), why.begin(), why.end());
    const SendResult sent = publisher_.publish({&letter, 1}, now() + 2 * options_.timeout)[0];
    if (sent.verdict != SendVerdict::delivered)
      return Error{Errc::unavailable, "queue '" + dead_letter_ + "' for dead letters: " + sent.error};
    return acknowledge(message.delivery);
  }

  // With a good-bye: once the broker has answered it, it has seen every acknowledgement. A connection that
  // just ends may take the last ones with it, and their messages come again.
  void leave() override {
    if (connection_) (void)amqp_channel_close(connection_->state(), channel, AMQP_REPLY_SUCCESS);
    connection_.reset();
  }

 private:
  static constexpr amqp_channel_t channel = AmqpConnection::channel;

  // Asked for first: declaring one that is there with other arguments would be refused.
  Result<Done> make_dead_letter_queue() {
    const auto declare = [this](bool passive) -> Result<Done> {
      Result<std::unique_ptr<AmqpConnection>> opened = AmqpConnection::open(options_);
      if (!opened) return opened.error();
      amqp_queue_declare((*opened)->state(), channel, bytes_of(dead_letter_), passive, 1, 0, 0,
                         amqp_empty_table);
      return (*opened)->answered("queue '" + dead_letter_ + "' for dead letters");
    };
    Result<Done> there = declare(true);
    if (!there && there.error().code == Errc::not_found) there = declare(false);
    return there;
  }

  Result<std::optional<Message>> next() {
    amqp_maybe_release_buffers(connection_->state());
    amqp_envelope_t envelope;
    const timeval at_once{};
    const amqp_rpc_reply_t reply = amqp_consume_message(connection_->state(), &envelope, &at_once, 0);
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) {
      Message message = message_of(envelope);
      message.delivery = {life_, envelope.delivery_tag, 0, {}};
      amqp_destroy_envelope(&envelope);
      return std::optional(std::move(message));
    }
    if (reply.reply_type != AMQP_RESPONSE_LIBRARY_EXCEPTION) return Error{Errc::unavailable, describe(reply)};
    if (reply.library_error == AMQP_STATUS_TIMEOUT) return std::optional<Message>();
    if (reply.library_error != AMQP_STATUS_UNEXPECTED_STATE) return Error{Errc::unavailable, describe(reply)};
    // Something that is no message: the broker closes the channel, or cancels because the queue is gone.
    const Result<std::optional<amqp_method_t>> method = connection_->next_method(now());
    if (!method) return method.error();
    if (*method && (*method)->id == AMQP_BASIC_CANCEL_METHOD)
      return Error{Errc::not_found, "queue '" + queue_ + "' was deleted"};
    return std::optional<Message>();
  }

  // Until something comes, the deadline, or half a heartbeat, at which the library must have a turn. True:
  // woken, or the time is over.
  bool wait(const WakeUp& wake, MonoTime deadline) const {
    std::array<pollfd, 2> both = {pollfd{connection_->socket(), POLLIN, 0}, pollfd{wake.fd(), POLLIN, 0}};
    const MonoTime until = std::min(deadline, now() + options_.heartbeat / 2);
    const auto left = std::chrono::ceil<Duration>(until - now());
    ::poll(both.data(), both.size(), static_cast<int>(std::max(left, Duration::zero()).count()));
    if (both[1].revents == 0) return false;
    wake.clear();
    return true;
  }

  const AmqpOptions options_;
  const std::string queue_;
  const std::string dead_letter_;
  const std::uint16_t prefetch_;
  RabbitmqPublisher publisher_;
  std::unique_ptr<AmqpConnection> connection_;
  std::uint64_t life_ = 0;
};

}  // namespace

Result<std::unique_ptr<MessageSource>> make_rabbitmq_source(const BrokerUrl& address,
                                                            const SourceOptions& options) {
  Result<AmqpOptions> amqp = amqp_options(address, {"queue"});
  if (!amqp) return amqp.error();
  const std::string queue = address.option("queue").value_or("");
  if (queue.empty()) return Error{Errc::invalid, "amqp://…: ?queue=NAME is missing"};
  std::string dead_letter = options.dead_letter.empty() ? queue + ".dead" : options.dead_letter;
  return std::unique_ptr<MessageSource>(
      std::make_unique<RabbitmqSource>(*amqp, queue, std::move(dead_letter), options.unacknowledged));
}

}  // namespace onceward::messaging
