// Link: one connection to one server, from the name's look-up to the last byte: connecting, TLS, and an
// exchange of one command at a time for introductions. What pipelines (Connection) or listens (Subscriber)
// takes its stream over. Belongs to the I/O thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/task.hpp"
#include "net/resolver.hpp"
#include "net/stream.hpp"
#include "stores/redis/redis_url.hpp"
#include "stores/redis/resp.hpp"

namespace onceward::redis {

class Link {
 public:
  // Without a context: plain.
  Link(net::Worker& worker, SSL_CTX* tls, bool verify) : worker_(worker), tls_(tls), verify_(verify) {}

  Task<Result<Done>> connect(const Endpoint& endpoint, MonoTime deadline);
  // AUTH, CLIENT SETNAME and SELECT, in one round trip.
  Task<Result<Done>> introduce(const Credentials& credentials, unsigned database, MonoTime deadline);
  // Whole commands and as many replies; for introductions. The server's errors are replies.
  Task<Result<std::vector<RespReply>>> exchange(std::string commands, std::size_t replies, MonoTime deadline);
  // The next reply, whoever asked for it.
  Task<Result<RespReply>> read(MonoTime deadline);
  Task<bool> write(std::string_view bytes, MonoTime deadline);

  bool is_open() const { return stream_ && !stream_->broken(); }
  void close();                       // wakes whoever waits
  void forget() { stream_.reset(); }  // nobody may wait any more
  const Endpoint& endpoint() const { return endpoint_; }
  bool is_encrypted() const { return tls_ != nullptr; }
  std::uint64_t bytes_out() const { return stream_ ? stream_->bytes_out() : 0; }

 private:
  Task<Result<Done>> connect_to(const net::SocketAddress& address, MonoTime deadline);

  net::Worker& worker_;
  SSL_CTX* tls_;
  bool verify_;
  Endpoint endpoint_;
  std::unique_ptr<net::Resolver> resolver_;
  std::unique_ptr<net::Stream> stream_;
  RespReader reader_;
  std::vector<char> room_;
};

}  // namespace onceward::redis
