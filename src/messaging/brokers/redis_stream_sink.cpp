#include "messaging/brokers/redis_stream_sink.hpp"

#include <algorithm>

#include "core/ascii.hpp"
#include "messaging/brokers/redis_line.hpp"

namespace onceward::messaging {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 15 && std::ranges::all_of(text, is_digit);
}

class RedisStreamSink final : public EventSink {
 public:
  explicit RedisStreamSink(const BrokerUrl& url)
      : url_(url), stream_(url.option("stream").value_or("")), maxlen_(url.option("maxlen").value_or("")) {}

  std::vector<SendResult> send(std::span<const PendingEvent> batch, MonoTime deadline) override {
    std::vector<SendResult> results(batch.size());
    if (batch.empty() || std::chrono::steady_clock::now() >= deadline) return results;
    const bool reused = line_ != nullptr;
    send_all(batch, deadline, results);
    // A server that restarted closed it: what it said nothing about may as well be sent again now.
    if (reused && !line_ && results.front().verdict == SendVerdict::retry) send_all(batch, deadline, results);
    return results;
  }

 private:
  void send_all(std::span<const PendingEvent> batch, MonoTime deadline, std::vector<SendResult>& results) {
    Result<Done> in_use = connect(deadline);
    for (const PendingEvent& event : batch) {
      if (in_use) in_use = line_->send(command_for(event.event), deadline);
    }
    for (SendResult& result : results) {
      if (in_use) in_use = confirm(deadline, result);
      if (!in_use) result = {SendVerdict::retry, in_use.error().message};
    }
    if (!in_use) line_.reset();
  }

  Result<Done> connect(MonoTime deadline) {
    if (line_) return Done{};
    const auto left = std::chrono::ceil<Duration>(deadline - std::chrono::steady_clock::now());
    Result<std::unique_ptr<RedisLine>> opened = RedisLine::open(url_, std::max(left, Duration(1)));
    if (!opened) return opened.error();
    line_ = std::move(*opened);
    return Done{};
  }

  RedisCommand command_for(const Event& event) const {
    RedisCommand command = {"XADD", stream_};
    if (!maxlen_.empty()) command.insert(command.end(), {"MAXLEN", "~", maxlen_});
    command.insert(command.end(), {"*", "id", event.id, "type", event.type, "content_type",
                                   event.content_type, "payload", event.payload});
    return command;
  }

  // Of the oldest command that has none yet. An error: the connection is of no more use.
  Result<Done> confirm(MonoTime deadline, SendResult& result) {
    const Result<RedisReply> reply = line_->receive(nullptr, deadline);
    if (reply && *reply) {
      result = {SendVerdict::delivered, ""};
    } else if (reply) {
      return Error{Errc::unavailable, "the server did not answer in time"};
    } else if (reply.error().code == Errc::refused) {
      // Such as OOM, READONLY or WRONGTYPE: of the server or the stream, not of this event, so it may pass.
      result = {SendVerdict::retry, "the server answered: " + reply.error().message};
    } else {
      return reply.error();
    }
    return Done{};
  }

  const BrokerUrl url_;
  const std::string stream_;
  const std::string maxlen_;
  std::unique_ptr<RedisLine> line_;
};

}  // namespace

Result<std::unique_ptr<EventSink>> make_redis_stream_sink(const BrokerUrl& url) {
  const auto invalid = [](std::string why) { return Error{Errc::invalid, std::move(why)}; };
  if (url.scheme != "redis" && url.scheme != "rediss") return invalid("a stream is reached by redis://");
  if (url.hosts.size() != 1) return invalid("a stream is on one server");
  if (url.option("stream").value_or("").empty()) return invalid("redis:// needs ?stream=NAME");
  if (const Result<Done> known = url.only({"stream", "maxlen", "ca", "cert", "key", "verify"}); !known)
    return known.error();
  if (const auto maxlen = url.option("maxlen"); maxlen && !is_number(*maxlen))
    return invalid("maxlen is a whole number");
  if (!url.path.empty() && !is_number(url.path)) return invalid("the database of redis:// is a number");
  return std::unique_ptr<EventSink>(std::make_unique<RedisStreamSink>(url));
}

}  // namespace onceward::messaging
