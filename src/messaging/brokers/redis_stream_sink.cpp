#include "messaging/brokers/redis_stream_sink.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>

#include "core/ascii.hpp"

namespace onceward::messaging {
namespace {

struct FreeRedis {
  void operator()(redisContext* context) const { redisFree(context); }
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Connection = std::unique_ptr<redisContext, FreeRedis>;
using Answer = std::unique_ptr<redisReply, FreeRedis>;

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 15 && std::ranges::all_of(text, is_digit);
}

// Such as OOM, READONLY or WRONGTYPE: of the server or the stream, not of this event, so it may pass.
SendResult refused(const redisReply& reply) {
  const std::string why(reply.str, static_cast<std::size_t>(reply.len));
  return {SendVerdict::retry, "the server answered: " + why};
}

timeval time_left(MonoTime deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::microseconds>(deadline - std::chrono::steady_clock::now());
  const std::int64_t us = std::max<std::int64_t>(left.count(), 1000);
  return {.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000};
}

class RedisStreamSink final : public EventSink {
 public:
  explicit RedisStreamSink(const BrokerUrl& url)
      : url_(url), stream_(url.option("stream").value_or("")), maxlen_(url.option("maxlen").value_or("")) {}

  std::vector<SendResult> send(std::span<const PendingEvent> batch, MonoTime deadline) override {
    std::vector<SendResult> results(batch.size());
    if (batch.empty() || std::chrono::steady_clock::now() >= deadline) return results;
    const bool reused = connection_ && connection_->err == 0;
    send_all(batch, deadline, results);
    // A server that restarted closed it: what it said nothing about may as well be sent again now.
    if (reused && connection_->err != 0 && results.front().verdict == SendVerdict::retry)
      send_all(batch, deadline, results);
    return results;
  }

 private:
  void send_all(std::span<const PendingEvent> batch, MonoTime deadline, std::vector<SendResult>& results) {
    if (std::string why = connect(deadline); !why.empty()) {
      connection_.reset();
      std::ranges::fill(results, SendResult{SendVerdict::retry, why});
      return;
    }
    redisSetTimeout(connection_.get(), time_left(deadline));
    for (const PendingEvent& event : batch) append(event.event);
    for (SendResult& result : results) result = confirmation();
  }

  // Empty, or what is in the way.
  std::string connect(MonoTime deadline) {
    if (connection_ && connection_->err == 0) return {};
    const BrokerHost& place = url_.hosts.front();
    const int port = place.port.empty() ? 6379 : std::stoi(place.port);
    connection_.reset(redisConnectWithTimeout(place.host.c_str(), port, time_left(deadline)));
    if (!connection_) return "no memory for a connection";
    if (connection_->err != 0) return connection_->errstr;
    redisSetTimeout(connection_.get(), time_left(deadline));
    std::vector<std::string> log_in{"AUTH"};
    if (!url_.user.empty()) log_in.push_back(url_.user);
    log_in.push_back(url_.password);
    if (!url_.password.empty()) {
      if (std::string why = introduce(log_in); !why.empty()) return why;
    }
    return url_.path.empty() ? "" : introduce({"SELECT", url_.path});
  }

  std::string introduce(const std::vector<std::string>& command) {
    std::vector<std::string_view> parts(command.begin(), command.end());
    append_command(parts);
    const SendResult result = confirmation();
    return result.verdict == SendVerdict::delivered ? "" : result.error;
  }

  void append(const Event& event) {
    std::vector<std::string_view> parts{"XADD", stream_};
    if (!maxlen_.empty()) parts.insert(parts.end(), {"MAXLEN", "~", maxlen_});
    parts.insert(parts.end(), {"*", "id", event.id, "type", event.type, "content_type", event.content_type,
                               "payload", event.payload});
    append_command(parts);
  }

  void append_command(const std::vector<std::string_view>& parts) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string_view part : parts) {
      texts.push_back(part.data());
      sizes.push_back(part.size());
    }
    redisAppendCommandArgv(connection_.get(), static_cast<int>(parts.size()), texts.data(), sizes.data());
  }

  // Of the oldest command that has none yet.
  SendResult confirmation() {
    void* raw = nullptr;
    if (connection_->err != 0 || redisGetReply(connection_.get(), &raw) != REDIS_OK || !raw)
      return {SendVerdict::retry, connection_->errstr};
    const Answer reply(static_cast<redisReply*>(raw));
    if (reply->type == REDIS_REPLY_ERROR) return refused(*reply);
    return {SendVerdict::delivered, ""};
  }

  const BrokerUrl url_;
  const std::string stream_;
  const std::string maxlen_;
  Connection connection_;
};

}  // namespace

Result<std::unique_ptr<EventSink>> make_redis_stream_sink(const BrokerUrl& url) {
  const auto invalid = [](std::string why) { return Error{Errc::invalid, std::move(why)}; };
  if (url.scheme != "redis") return invalid("a stream is reached by redis://, without TLS");
  if (url.hosts.size() != 1) return invalid("a stream is on one server");
  if (url.option("stream").value_or("").empty()) return invalid("redis:// needs ?stream=NAME");
  if (const Result<Done> known = url.only({"stream", "maxlen"}); !known) return known.error();
  if (const auto maxlen = url.option("maxlen"); maxlen && !is_number(*maxlen))
    return invalid("maxlen is a whole number");
  if (!url.path.empty() && !is_number(url.path)) return invalid("the database of redis:// is a number");
  return std::unique_ptr<EventSink>(std::make_unique<RedisStreamSink>(url));
}

}  // namespace onceward::messaging
