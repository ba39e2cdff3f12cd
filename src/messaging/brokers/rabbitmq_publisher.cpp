#include "messaging/brokers/rabbitmq_publisher.hpp"

#include <algorithm>

namespace onceward::messaging {
namespace {

constexpr std::size_t short_text_max = 255;  // of AMQP: routing keys, ids, types

MonoTime now() { return std::chrono::steady_clock::now(); }

std::string unfit(const OutMessage& message) {
  if (message.route.size() > short_text_max) return "the routing key is longer than 255 bytes";
  if (message.id.size() > short_text_max) return "the message id is longer than 255 bytes";
  if (message.type.size() > short_text_max) return "the message type is longer than 255 bytes";
  if (message.content_type.size() > short_text_max) return "the content type is longer than 255 bytes";
  return {};
}

// The table points into the message.
std::vector<amqp_table_entry_t> header_table(const MessageHeaders& headers) {
  std::vector<amqp_table_entry_t> entries;
  for (const auto& [name, value] : headers) {
    if (name.empty() || name.size() > short_text_max) continue;
    amqp_table_entry_t& entry = entries.emplace_back();
    entry.key = bytes_of(name);
    entry.value.kind = AMQP_FIELD_KIND_UTF8;
    entry.value.value.bytes = bytes_of(value);
  }
  return entries;
}

}  // namespace

// Messages on their way: each settles once, by the broker's word or by the end of the connection.
struct RabbitmqPublisher::Batch {
  std::span<const OutMessage> messages;
  std::vector<SendResult> results;
  std::vector<std::size_t> sent = {};  // positions, in the order of their tags
  std::uint64_t first_tag = 0;
  std::size_t open = 0;  // sent and not settled

  void settle(std::size_t position, SendVerdict verdict, std::string error) {
    SendResult& result = results[position];
    if (result.verdict != SendVerdict::untried) return;
    result = {verdict, std::move(error)};
  }
  // By the broker: one tag, or all up to it.
  void confirm(std::uint64_t tag, bool multiple, bool taken) {
    for (std::uint64_t each = multiple ? first_tag : tag; each <= tag; ++each) {
      if (each < first_tag || each - first_tag >= sent.size()) continue;
      const std::size_t position = sent[each - first_tag];
      if (results[position].verdict == SendVerdict::untried) --open;
      settle(position, taken ? SendVerdict::delivered : SendVerdict::retry,
             taken ? "" : "the broker could not take it");
    }
  }
  void fail_rest(const std::string& why) {
    for (std::size_t i = 0; i < results.size(); ++i) settle(i, SendVerdict::retry, why);
  }
};

RabbitmqPublisher::RabbitmqPublisher(AmqpOptions options, std::string exchange)
    : options_(std::move(options)), exchange_(std::move(exchange)) {}

Result<Done> RabbitmqPublisher::connect() {
  if (connection_) return Done{};
  Result<std::unique_ptr<AmqpConnection>> opened = AmqpConnection::open(options_);
  if (!opened) return opened.error();
  if (!exchange_.empty()) {
    // Asked for here, because a message to an exchange that is not there closes the channel for all of them.
    amqp_exchange_declare((*opened)->state(), AmqpConnection::channel, bytes_of(exchange_),
                          amqp_cstring_bytes("direct"), 1, 0, 0, 0, amqp_empty_table);
    if (Result<Done> there = (*opened)->answered("exchange '" + exchange_ + "'"); !there) return there;
  }
  amqp_confirm_select((*opened)->state(), AmqpConnection::channel);
  if (Result<Done> confirms = (*opened)->answered("asking for confirms"); !confirms) return confirms;
  connection_ = std::move(*opened);
  next_tag_ = 1;
  return Done{};
}

std::vector<SendResult> RabbitmqPublisher::publish(std::span<const OutMessage> messages, MonoTime deadline) {
  Batch batch{messages, std::vector<SendResult>(messages.size())};
  if (now() >= deadline || messages.empty()) return std::move(batch.results);
  // An idle connection may have been closed by the broker meanwhile: only what was sent on it would learn
  // that.
  if (connection_) {
    if (!connection_->next_method(now())) connection_.reset();
  }
  if (Result<Done> connected = connect(); !connected) {
    batch.fail_rest(connected.error().message);
    return std::move(batch.results);
  }
  batch.first_tag = next_tag_;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (std::string why = unfit(messages[i]); !why.empty()) {
      batch.settle(i, SendVerdict::poison, std::move(why));
      continue;
    }
    if (!connection_->wait_writable(deadline) || now() >= deadline) break;
    ++next_tag_;
    ++batch.open;
    batch.sent.push_back(i);
    if (Result<Done> sent = send(messages[i]); !sent) {
      connection_.reset();
      batch.fail_rest(sent.error().message);
      return std::move(batch.results);
    }
  }
  if (Result<Done> settled = settle(batch, deadline); !settled) {
    connection_.reset();
    for (const std::size_t position : batch.sent)
      batch.settle(position, SendVerdict::retry, settled.error().message);
  }
  return std::move(batch.results);
}

Result<Done> RabbitmqPublisher::send(const OutMessage& message) {
  std::vector<amqp_table_entry_t> headers = header_table(message.headers);
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG;
  properties.delivery_mode = AMQP_DELIVERY_PERSISTENT;
  properties.message_id = bytes_of(message.id);
  if (!message.type.empty()) {
    properties._flags |= AMQP_BASIC_TYPE_FLAG;
    properties.type = bytes_of(message.type);
  }
  if (!message.content_type.empty()) {
    properties._flags |= AMQP_BASIC_CONTENT_TYPE_FLAG;
    properties.content_type = bytes_of(message.content_type);
  }
  if (!headers.empty()) {
    properties._flags |= AMQP_BASIC_HEADERS_FLAG;
    properties.headers = {static_cast<int>(headers.size()), headers.data()};
  }
  constexpr amqp_boolean_t mandatory = 1;
  const int status =
      amqp_basic_publish(connection_->state(), AmqpConnection::channel, bytes_of(exchange_),
                         bytes_of(message.route), mandatory, 0, &properties, bytes_of(message.body));
  if (status != AMQP_STATUS_OK)
    return Error{Errc::unavailable, std::string("sending to the broker: ") + amqp_error_string2(status)};
  return Done{};
}

Result<Done> RabbitmqPublisher::settle(Batch& batch, MonoTime deadline) {
  while (batch.open > 0) {
    const Result<std::optional<amqp_method_t>> method = connection_->next_method(deadline);
    if (!method) return method.error();
    if (!*method) return Error{Errc::unavailable, "the broker did not confirm in time"};
    if (Result<Done> taken = take(batch, **method); !taken) return taken;
  }
  return Done{};
}

Result<Done> RabbitmqPublisher::take(Batch& batch, const amqp_method_t& method) {
  switch (method.id) {
    case AMQP_BASIC_ACK_METHOD: {
      const auto* ack = static_cast<const amqp_basic_ack_t*>(method.decoded);
      batch.confirm(ack->delivery_tag, ack->multiple, true);
      return Done{};
    }
    case AMQP_BASIC_NACK_METHOD: {
      const auto* nack = static_cast<const amqp_basic_nack_t*>(method.decoded);
      batch.confirm(nack->delivery_tag, nack->multiple, false);
      return Done{};
    }
    case AMQP_BASIC_RETURN_METHOD:
      return returned(batch, *static_cast<const amqp_basic_return_t*>(method.decoded));
    default:
      return Done{};
  }
}

// Comes before the confirm of the same message, which says only that the broker is done with it.
Result<Done> RabbitmqPublisher::returned(Batch& batch, const amqp_basic_return_t& why) {
  const std::string reason = "returned by the broker: " + text_of(why.reply_text) + " (exchange '" +
                             exchange_ + "', routing key '" + text_of(why.routing_key) + "')";
  amqp_message_t message;
  if (Result<Done> read = connection_->read_content(message); !read) return read;
  const std::string id = text_of(message.properties.message_id);
  amqp_destroy_message(&message);
  for (const std::size_t position : batch.sent) {
    if (batch.messages[position].id != id || batch.results[position].verdict != SendVerdict::untried)
      continue;
    batch.settle(position, SendVerdict::retry, reason);
    --batch.open;
    break;
  }
  return Done{};
}

}  // namespace onceward::messaging
