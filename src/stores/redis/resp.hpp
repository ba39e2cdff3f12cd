// The Redis protocol: commands written, replies read with hiredis' reader. A reader belongs to one
// connection and its thread.
#pragma once

#include <hiredis/hiredis.h>

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "onceward/result.hpp"

namespace onceward::redis {

void append_command(std::string& out, std::span<const std::string_view> arguments);
void append_command(std::string& out, std::initializer_list<std::string_view> arguments);

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using RespReply = std::unique_ptr<redisReply, FreeReply>;

inline bool is_error(const redisReply& reply) { return reply.type == REDIS_REPLY_ERROR; }
inline bool is_text(const redisReply& reply) {
  return reply.type == REDIS_REPLY_STRING || reply.type == REDIS_REPLY_STATUS || is_error(reply);
}
inline std::string_view text_of(const redisReply& reply) {
  return is_text(reply) ? std::string_view(reply.str, static_cast<std::size_t>(reply.len))
                        : std::string_view();
}
inline std::span<redisReply* const> elements_of(const redisReply& reply) {
  if (reply.type != REDIS_REPLY_ARRAY) return {};
  return {reply.element, reply.elements};
}

class RespReader {
 public:
  RespReader();
  void feed(std::string_view bytes);
  // The next whole reply; null: more bytes are needed. An error: what came is not the protocol, and nothing
  // more can be read.
  Result<RespReply> next();

 private:
  struct Free {
    void operator()(redisReader* reader) const { redisReaderFree(reader); }
  };
  std::unique_ptr<redisReader, Free> reader_;
};

}  // namespace onceward::redis
