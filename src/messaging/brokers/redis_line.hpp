// RedisLine: one connection to a Redis server, plain or TLS, that asks and waits. Replies are read with
// hiredis' reader. One thread; every wait has a deadline. After an error it is of no more use.
#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/brokers/broker_url.hpp"
#include "messaging/brokers/wake_up.hpp"

namespace onceward::messaging {

struct FreeHiredis {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
  void operator()(redisReader* reader) const { redisReaderFree(reader); }
};
using RedisReply = std::unique_ptr<redisReply, FreeHiredis>;

inline std::string_view text_of(const redisReply& reply) {
  const bool text =
      reply.type == REDIS_REPLY_STRING || reply.type == REDIS_REPLY_STATUS || reply.type == REDIS_REPLY_ERROR;
  return text ? std::string_view(reply.str, static_cast<std::size_t>(reply.len)) : std::string_view();
}
inline std::span<redisReply* const> elements_of(const redisReply& reply) {
  if (reply.type != REDIS_REPLY_ARRAY) return {};
  return {reply.element, reply.elements};
}

using RedisCommand = std::vector<std::string>;

class RedisLine {
 public:
  // Connects and introduces us, as the address says.
  static Result<std::unique_ptr<RedisLine>> open(const BrokerUrl& address, Duration timeout);
  ~RedisLine();
  RedisLine(const RedisLine&) = delete;
  RedisLine& operator=(const RedisLine&) = delete;

  // A reply that is an error is an Error, with the server's words.
  Result<RedisReply> ask(const RedisCommand& command);

  // The two halves of it, for a question that the server may keep waiting for.
  Result<Done> send(const RedisCommand& command, MonoTime deadline);
  // Null: the deadline came, or somebody woke us.
  Result<RedisReply> receive(const WakeUp* wake, MonoTime deadline);

 private:
  RedisLine(int fd, Duration timeout);
  Result<Done> shake_hands(const BrokerUrl& address, MonoTime deadline);
  Result<Done> introduce(const BrokerUrl& address);
  Result<Done> write_all(std::string_view bytes, MonoTime deadline);
  // What was read; 0: it would have to wait, for what `events_` says.
  Result<std::size_t> read_some();
  enum class Ended { ready, time_over, woken };
  Ended wait(short events, const WakeUp* wake, MonoTime deadline) const;

  const int fd_;
  const Duration timeout_;
  net::TlsContext context_;
  net::TlsSession session_;  // null: plain
  std::unique_ptr<redisReader, FreeHiredis> reader_;
  short events_ = 0;
};

}  // namespace onceward::messaging
