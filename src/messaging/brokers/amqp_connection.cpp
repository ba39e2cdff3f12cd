#include "messaging/brokers/amqp_connection.hpp"

#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <poll.h>

#include <algorithm>
#include <array>

namespace onceward::messaging {
namespace {

constexpr int frame_bytes_max = 131072;

Error unavailable(std::string message) { return {Errc::unavailable, std::move(message)}; }

timeval as_timeval(Duration time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return {seconds.count(), std::chrono::microseconds(time - seconds).count()};
}

amqp_table_entry_t flag(const char* name) {
  amqp_table_entry_t entry{};
  entry.key = amqp_cstring_bytes(name);
  entry.value.kind = AMQP_FIELD_KIND_BOOLEAN;
  entry.value.value.boolean = 1;
  return entry;
}

Result<Done> prepare_tls(amqp_socket_t* socket, const net::ClientTls& tls) {
  amqp_ssl_socket_set_verify_peer(socket, tls.verify);
  amqp_ssl_socket_set_verify_hostname(socket, tls.verify);
  if (!tls.ca_file.empty() && amqp_ssl_socket_set_cacert(socket, tls.ca_file.c_str()) != AMQP_STATUS_OK)
    return Error{Errc::invalid, "cannot read the authorities in " + tls.ca_file};
  if (tls.verify && tls.ca_file.empty())
    SSL_CTX_set_default_verify_paths(static_cast<SSL_CTX*>(amqp_ssl_socket_get_context(socket)));
  if (!tls.cert.empty() &&
      amqp_ssl_socket_set_key(socket, tls.cert.c_str(), tls.key.c_str()) != AMQP_STATUS_OK)
    return Error{Errc::invalid, "cannot read the certificate " + tls.cert + " and its key"};
  return Done{};
}

}  // namespace

timeval time_until(MonoTime deadline) {
  const auto left = std::chrono::ceil<Duration>(deadline - std::chrono::steady_clock::now());
  return as_timeval(std::max(left, Duration::zero()));
}

Result<AmqpOptions> amqp_options(const BrokerUrl& url, std::initializer_list<std::string_view> more) {
  BrokerUrl common = url;
  std::erase_if(common.options, [&](const auto& option) {
    return std::ranges::find(more, std::string_view(option.first)) != more.end();
  });
  if (Result<Done> known = common.only({"ca", "cert", "key", "verify", "heartbeat", "timeout"}); !known)
    return known.error();
  if (url.hosts.size() != 1) return Error{Errc::invalid, "amqp://: one address is expected"};
  AmqpOptions options;
  options.use_tls = url.scheme == "amqps";
  options.host = url.hosts[0].host;
  options.port = options.use_tls ? 5671 : 5672;
  if (!url.hosts[0].port.empty()) options.port = std::stoi(url.hosts[0].port);
  if (!url.user.empty()) options.user = url.user;
  if (!url.user.empty()) options.password = url.password;
  if (url.has_path && !url.path.empty()) options.vhost = url.path;
  options.tls = url.tls();
  const Result<Duration> heartbeat = duration_option(url, "heartbeat", options.heartbeat);
  if (!heartbeat) return heartbeat.error();
  options.heartbeat = std::max(*heartbeat, Duration(1000));
  const Result<Duration> timeout = duration_option(url, "timeout", options.timeout);
  if (!timeout) return timeout.error();
  options.timeout = *timeout;
  return options;
}

std::string describe_close(const amqp_method_t& method) {
  if (method.id == AMQP_CONNECTION_CLOSE_METHOD)
    return text_of(static_cast<const amqp_connection_close_t*>(method.decoded)->reply_text);
  if (method.id == AMQP_CHANNEL_CLOSE_METHOD)
    return text_of(static_cast<const amqp_channel_close_t*>(method.decoded)->reply_text);
  return std::string("unexpected ") + amqp_method_name(method.id);
}

std::string describe(const amqp_rpc_reply_t& reply) {
  switch (reply.reply_type) {
    case AMQP_RESPONSE_NORMAL:
      return "no error";
    case AMQP_RESPONSE_NONE:
      return "no answer";
    case AMQP_RESPONSE_LIBRARY_EXCEPTION:
      return amqp_error_string2(reply.library_error);
    case AMQP_RESPONSE_SERVER_EXCEPTION:
      return describe_close(reply.reply);
  }
  return "no answer";
}

Result<std::unique_ptr<AmqpConnection>> AmqpConnection::open(const AmqpOptions& options) {
  std::unique_ptr<AmqpConnection> connection(new AmqpConnection(amqp_new_connection()));
  if (Result<Done> connected = connection->connect(options); !connected) return connected.error();
  if (Result<Done> known = connection->log_in(options); !known) return known.error();
  return connection;
}

AmqpConnection::~AmqpConnection() {
  // No good-bye: it would wait for an answer, and the broker treats an end without one the same way.
  amqp_destroy_connection(state_);
}

Result<Done> AmqpConnection::connect(const AmqpOptions& options) {
  amqp_socket_t* socket = options.use_tls ? amqp_ssl_socket_new(state_) : amqp_tcp_socket_new(state_);
  if (!socket) return unavailable("no socket could be made");
  if (options.use_tls) {
    if (Result<Done> prepared = prepare_tls(socket, options.tls); !prepared) return prepared;
  }
  const timeval limit = as_timeval(options.timeout);
  amqp_set_handshake_timeout(state_, &limit);
  amqp_set_rpc_timeout(state_, &limit);
  const int status = amqp_socket_open_noblock(socket, options.host.c_str(), options.port, &limit);
  if (status == AMQP_STATUS_OK) return Done{};
  return unavailable("cannot connect to " + options.host + ":" + std::to_string(options.port) + ": " +
                     amqp_error_string2(status));
}

Result<Done> AmqpConnection::log_in(const AmqpOptions& options) {
  // Without it the broker would not say that a queue was deleted under its consumer.
  std::array<amqp_table_entry_t, 1> capabilities = {flag("consumer_cancel_notify")};
  std::array<amqp_table_entry_t, 2> properties{};
  properties[0].key = amqp_cstring_bytes("capabilities");
  properties[0].value.kind = AMQP_FIELD_KIND_TABLE;
  properties[0].value.value.table = {static_cast<int>(capabilities.size()), capabilities.data()};
  properties[1].key = amqp_cstring_bytes("connection_name");
  properties[1].value.kind = AMQP_FIELD_KIND_UTF8;
  properties[1].value.value.bytes = amqp_cstring_bytes("onceward");
  const amqp_table_t table{static_cast<int>(properties.size()), properties.data()};
  const int heartbeat_s =
      static_cast<int>(std::chrono::ceil<std::chrono::seconds>(options.heartbeat).count());
  const amqp_rpc_reply_t reply = amqp_login_with_properties(
      state_, options.vhost.c_str(), AMQP_DEFAULT_MAX_CHANNELS, frame_bytes_max, heartbeat_s, &table,
      AMQP_SASL_METHOD_PLAIN, options.user.c_str(), options.password.c_str());
  if (reply.reply_type != AMQP_RESPONSE_NORMAL)
    return unavailable("the broker refused us: " + describe(reply));
  amqp_channel_open(state_, channel);
  return answered("opening a channel");
}

Result<Done> AmqpConnection::answered(const std::string& question) const {
  const amqp_rpc_reply_t reply = amqp_get_rpc_reply(state_);
  if (reply.reply_type == AMQP_RESPONSE_NORMAL) return Done{};
  const bool missing =
      reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION && reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD &&
      static_cast<const amqp_channel_close_t*>(reply.reply.decoded)->reply_code == AMQP_NOT_FOUND;
  return Error{missing ? Errc::not_found : Errc::unavailable, question + ": " + describe(reply)};
}

Result<std::optional<amqp_method_t>> AmqpConnection::next_method(MonoTime deadline) {
  amqp_maybe_release_buffers(state_);
  amqp_frame_t frame;
  for (;;) {
    const timeval limit = time_until(deadline);
    const int status = amqp_simple_wait_frame_noblock(state_, &frame, &limit);
    if (status == AMQP_STATUS_TIMEOUT) return std::optional<amqp_method_t>();
    if (status != AMQP_STATUS_OK) return unavailable(amqp_error_string2(status));
    if (frame.frame_type != AMQP_FRAME_METHOD) continue;
    const amqp_method_t& method = frame.payload.method;
    if (method.id == AMQP_CONNECTION_CLOSE_METHOD || method.id == AMQP_CHANNEL_CLOSE_METHOD)
      return unavailable("the broker closed the channel: " + describe_close(method));
    return std::optional(method);
  }
}

Result<Done> AmqpConnection::read_content(amqp_message_t& message) {
  const amqp_rpc_reply_t reply = amqp_read_message(state_, channel, &message, 0);
  if (reply.reply_type != AMQP_RESPONSE_NORMAL) return unavailable("reading a message: " + describe(reply));
  return Done{};
}

bool AmqpConnection::wait_writable(MonoTime deadline) const {
  pollfd waiting{socket(), POLLOUT, 0};
  const auto left = std::chrono::ceil<Duration>(deadline - std::chrono::steady_clock::now());
  return ::poll(&waiting, 1, static_cast<int>(std::clamp<Duration::rep>(left.count(), 0, 60'000))) == 1;
}

}  // namespace onceward::messaging
