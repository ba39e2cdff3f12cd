#include "stores/redis/resp.hpp"

#include <charconv>

namespace onceward::redis {
namespace {

constexpr int elements_max = 100'000;

void append_length(std::string& out, char kind, std::size_t length) {
  char buffer[24];
  buffer[0] = kind;
  char* end = std::to_chars(buffer + 1, buffer + sizeof buffer - 2, length).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out.append(buffer, end);
}

// Memory for an array is taken before its elements have come, so what is not ours to expect is refused.
redisReplyObjectFunctions* bounded_functions(const redisReplyObjectFunctions& usual) {
  static const redisReplyObjectFunctions original = usual;
  static redisReplyObjectFunctions bounded = [] {
    redisReplyObjectFunctions functions = original;
    functions.createArray = [](const redisReadTask* task, int elements) -> void* {
      return elements > elements_max ? nullptr : original.createArray(task, elements);
    };
    return functions;
  }();
  return &bounded;
}

}  // namespace

void append_command(std::string& out, std::span<const std::string_view> arguments) {
  append_length(out, '*', arguments.size());
  for (const std::string_view argument : arguments) {
    append_length(out, '$', argument.size());
    out.append(argument).append("\r\n");
  }
}

void append_command(std::string& out, std::initializer_list<std::string_view> arguments) {
  append_command(out, std::span(arguments.begin(), arguments.size()));
}

RespReader::RespReader() : reader_(redisReaderCreate()) { reader_->fn = bounded_functions(*reader_->fn); }

void RespReader::feed(std::string_view bytes) { redisReaderFeed(reader_.get(), bytes.data(), bytes.size()); }

Result<RespReply> RespReader::next() {
  void* reply = nullptr;
  if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK)
    return Error{Errc::unavailable, std::string("not the Redis protocol: ") + reader_->errstr};
  return RespReply(static_cast<redisReply*>(reply));
}

}  // namespace onceward::redis
