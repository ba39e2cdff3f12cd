// AmqpConnection: one connection to RabbitMQ with one channel, over librabbitmq, and what went wrong with it
// in words. One thread at a time; calls block, each within a time-out. After an error it is of no more use.
#pragma once

#include <amqp.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>

#include "messaging/brokers/broker_url.hpp"

namespace onceward::messaging {

struct AmqpOptions {
  std::string host;
  int port = 5672;
  std::string user = "guest";
  std::string password = "guest";
  std::string vhost = "/";
  bool use_tls = false;
  net::ClientTls tls;
  Duration heartbeat{20'000};
  Duration timeout{5'000};  // of connecting, and of each question
};

// `more` are options of the URL that somebody else reads.
Result<AmqpOptions> amqp_options(const BrokerUrl& url, std::initializer_list<std::string_view> more);

class AmqpConnection {
 public:
  static constexpr amqp_channel_t channel = 1;

  static Result<std::unique_ptr<AmqpConnection>> open(const AmqpOptions& options);
  ~AmqpConnection();
  AmqpConnection(const AmqpConnection&) = delete;
  AmqpConnection& operator=(const AmqpConnection&) = delete;

  amqp_connection_state_t state() const { return state_; }
  int socket() const { return amqp_get_sockfd(state_); }

  // What the last question was answered.
  Result<Done> answered(const std::string& question) const;
  // The next method that the server sent unasked, or nothing by the deadline. A close of the channel or the
  // connection is an error.
  Result<std::optional<amqp_method_t>> next_method(MonoTime deadline);
  // The content that follows a method.
  Result<Done> read_content(amqp_message_t& message);
  bool wait_writable(MonoTime deadline) const;

 private:
  explicit AmqpConnection(amqp_connection_state_t state) : state_(state) {}
  Result<Done> connect(const AmqpOptions& options);
  Result<Done> log_in(const AmqpOptions& options);

  const amqp_connection_state_t state_;
};

// What a reply that is not normal means.
std::string describe(const amqp_rpc_reply_t& reply);
std::string describe_close(const amqp_method_t& method);

inline std::string text_of(const amqp_bytes_t& bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}
inline amqp_bytes_t bytes_of(const std::string& text) {
  return {text.size(), const_cast<char*>(text.data())};
}

timeval time_until(MonoTime deadline);

}  // namespace onceward::messaging
