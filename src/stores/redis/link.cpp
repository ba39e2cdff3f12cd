#include "stores/redis/link.hpp"

#include "net/connect.hpp"

namespace onceward::redis {
namespace {

constexpr std::size_t room_bytes = 64 * 1024;

Error unavailable(std::string why) { return {Errc::unavailable, std::move(why)}; }

}  // namespace

Task<Result<Done>> Link::connect(const Endpoint& endpoint, MonoTime deadline) {
  if (!resolver_ || endpoint_ != endpoint) {
    endpoint_ = endpoint;
    resolver_ = std::make_unique<net::Resolver>(worker_, endpoint.host, endpoint.port);
  }
  const Result<std::vector<net::SocketAddress>> addresses = co_await resolver_->addresses(deadline);
  if (!addresses) co_return addresses.error();
  Error last = unavailable("no address");
  for (const net::SocketAddress& address : *addresses) {
    const Result<Done> connected = co_await connect_to(address, deadline);
    if (connected) co_return Done{};
    last = connected.error();
  }
  resolver_->distrust();
  co_return unavailable(to_string(endpoint_) + ": " + last.message);
}

Task<Result<Done>> Link::connect_to(const net::SocketAddress& address, MonoTime deadline) {
  const Result<int> fd = net::begin_connect(address);
  if (!fd) co_return fd.error();
  stream_ = std::make_unique<net::Stream>(worker_, *fd);
  reader_ = RespReader();
  const Result<Done> connected =
      co_await net::finish_connect(*stream_, tls_, endpoint_.host, verify_, deadline);
  if (!connected) stream_.reset();
  co_return connected;
}

Task<Result<Done>> Link::introduce(const Credentials& credentials, unsigned database, MonoTime deadline) {
  std::string commands;
  std::size_t count = 1;
  if (credentials.given()) {
    ++count;
    if (credentials.user.empty()) {
      append_command(commands, {"AUTH", credentials.password});
    } else {
      append_command(commands, {"AUTH", credentials.user, credentials.password});
    }
  }
  if (database != 0) {
    ++count;
    append_command(commands, {"SELECT", std::to_string(database)});
  }
  append_command(commands, {"CLIENT", "SETNAME", "onceward"});
  const auto replies = co_await exchange(std::move(commands), count, deadline);
  if (!replies) co_return replies.error();
  // The last one does not matter: a user may lack the right to set a name.
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const redisReply& reply = *(*replies)[i];
    if (is_error(reply)) co_return unavailable(to_string(endpoint_) + ": " + std::string(text_of(reply)));
  }
  co_return Done{};
}

Task<Result<std::vector<RespReply>>> Link::exchange(std::string commands, std::size_t count,
                                                    MonoTime deadline) {
  if (!co_await write(commands, deadline))
    co_return unavailable(to_string(endpoint_) + ": the connection ended");
  std::vector<RespReply> replies;
  while (replies.size() < count) {
    Result<RespReply> reply = co_await read(deadline);
    if (!reply) co_return reply.error();
    replies.push_back(std::move(*reply));
  }
  co_return std::move(replies);
}

Task<Result<RespReply>> Link::read(MonoTime deadline) {
  room_.resize(room_bytes);
  for (;;) {
    Result<RespReply> reply = reader_.next();
    if (!reply || *reply) co_return std::move(reply);
    const net::IoResult got = co_await stream_->read_some(room_, deadline);
    if (got.status == net::IoStatus::timeout)
      co_return unavailable(to_string(endpoint_) + ": no answer in time");
    if (got.status != net::IoStatus::ok)
      co_return unavailable(to_string(endpoint_) + ": the connection ended");
    reader_.feed({room_.data(), got.bytes});
  }
}

Task<bool> Link::write(std::string_view bytes, MonoTime deadline) {
  if (!is_open()) co_return false;
  co_return co_await stream_->write_all(bytes, deadline);
}

void Link::close() {
  if (stream_) stream_->close_now();
}

}  // namespace onceward::redis
