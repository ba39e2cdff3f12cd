#include "messaging/brokers/redis_source.hpp"

#include <poll.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/hex.hpp"
#include "messaging/brokers/redis_entry.hpp"
#include "messaging/brokers/redis_line.hpp"

namespace onceward::messaging {
namespace {

constexpr Duration block_longest{1000};  // a server that is gone is noticed after this and a time-out

// A name takes what is pending under it with it, and the server may give us messages until it has noticed
// that we do not read any more: so it looks and forgets in one step. What comes later is pending under the
// same name, made anew, and is claimed from it.
constexpr const char* forget_idle_consumer =
    "if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) > 0 then return 0 end "
    "redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2]) "
    "return 1";

MonoTime now() { return std::chrono::steady_clock::now(); }

struct RedisSourceOptions {
  BrokerUrl address;
  std::string stream;
  std::string group;
  std::string body;  // the field's name; empty: found
  std::string start;
  std::string dead_letter;
  Duration claim_after{};
  Duration timeout{};
};

std::string new_consumer_name() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::array<std::uint8_t, 6> chance{};
  (void)!::getrandom(chance.data(), chance.size(), 0);
  return std::string(host.data()) + "-" + to_hex(chance);
}

class RedisSource final : public MessageSource {
 public:
  explicit RedisSource(RedisSourceOptions options)
      : options_(std::move(options)), consumer_(new_consumer_name()) {}
  ~RedisSource() override { leave(); }

  const std::string& place() const override { return options_.stream; }

  Result<Done> connect() override {
    reading_.reset();
    talking_.reset();
    taken_.clear();
    asked_ = false;
    Result<std::unique_ptr<RedisLine>> reading = RedisLine::open(options_.address, options_.timeout);
    if (!reading) return reading.error();
    Result<std::unique_ptr<RedisLine>> talking = RedisLine::open(options_.address, options_.timeout);
    if (!talking) return talking.error();
    const Result<RedisReply> made =
        (*talking)->ask({"XGROUP", "CREATE", options_.stream, options_.group, options_.start, "MKSTREAM"});
    if (!made && !made.error().message.starts_with("BUSYGROUP")) return made.error();
    reading_ = std::move(*reading);
    talking_ = std::move(*talking);
    ++life_;
    claim_at_ = keep_at_ = now();
    cursor_ = "0-0";
    resume_after_ = "0-0";
    resumed_ = false;
    return Done{};
  }

  Result<std::vector<Message>> receive(std::size_t limit, const WakeUp& wake, MonoTime deadline) override {
    if (Result<Done> kept = keep_ours(); !kept) return kept.error();
    if (limit > 0 && !resumed_) {
      Result<std::vector<Message>> ours = resume(limit);
      if (!ours || !ours->empty()) return ours;
    }
    if (limit > 0 && now() >= claim_at_) {
      Result<std::vector<Message>> claimed = claim_from_the_dead(limit);
      if (!claimed || !claimed->empty()) return claimed;
    }
    deadline = std::min({deadline, keep_at_, limit > 0 ? claim_at_ : deadline});
    // Asked while there was room for what it may bring; the room has only grown since.
    if (!asked_ && limit == 0) return wait_for(wake, deadline);
    if (!asked_) {
      if (Result<Done> sent = ask_for(limit); !sent) return sent.error();
    }
    Result<RedisReply> reply = reading_->receive(&wake, deadline);
    if (!reply) return reply.error();
    if (!*reply) {
      if (now() > answer_by_) return Error{Errc::unavailable, "the server does not answer"};
      return std::vector<Message>();
    }
    asked_ = false;
    return taken_from(**reply);
  }

  Result<Done> acknowledge(const Delivery& delivery) override {
    if (!talking_ || delivery.life != life_) return Done{};
    taken_.erase(delivery.entry);
    const Result<RedisReply> done = talking_->ask({"XACK", options_.stream, options_.group, delivery.entry});
    if (!done) return done.error();
    return Done{};
  }

  Result<Done> dead_letter(const Message& message, const MessageHeaders& why) override {
    if (!talking_ || message.delivery.life != life_) return Done{};
    RedisCommand add = {"XADD", options_.dead_letter, "*"};
    for (const auto& [name, value] : fields_of(message, why)) add.insert(add.end(), {name, value});
    // Not one transaction: after a letter that the server refuses, such a one goes on to the acknowledgement.
    if (Result<RedisReply> added = talking_->ask(add); !added)
      return Error{Errc::unavailable,
                   "stream '" + options_.dead_letter + "' for dead letters: " + added.error().message};
    return acknowledge(message.delivery);
  }

  void leave() override {
    reading_.reset();  // first: soon nothing more is given to us
    if (talking_) hand_over();
    talking_.reset();
    taken_.clear();
  }

 private:
  Result<Done> ask_for(std::size_t limit) {
    answer_by_ = now() + block_longest + options_.timeout;
    const RedisCommand command = {"XREADGROUP",
                                  "GROUP",
                                  options_.group,
                                  consumer_,
                                  "COUNT",
                                  std::to_string(limit),
                                  "BLOCK",
                                  std::to_string(block_longest.count()),
                                  "STREAMS",
                                  options_.stream,
                                  ">"};
    Result<Done> sent = reading_->send(command, now() + options_.timeout);
    asked_ = sent.has_value();
    return sent;
  }

  // What we had taken when the connection was lost is still ours to the server.
  Result<std::vector<Message>> resume(std::size_t limit) {
    const Result<RedisReply> reply =
        talking_->ask({"XREADGROUP", "GROUP", options_.group, consumer_, "COUNT", std::to_string(limit),
                       "STREAMS", options_.stream, resume_after_});
    if (!reply) return reply.error();
    std::vector<Message> messages = taken_from(**reply);
    resumed_ = messages.empty();
    if (!resumed_) resume_after_ = messages.back().delivery.entry;
    return messages;
  }

  std::vector<Message> taken_from(const redisReply& streams) {
    std::vector<Message> messages;
    for (const redisReply* stream : elements_of(streams)) {
      if (elements_of(*stream).size() == 2) take(*elements_of(*stream)[1], messages);
    }
    return messages;
  }

  static Result<std::vector<Message>> wait_for(const WakeUp& wake, MonoTime deadline) {
    pollfd waiting{wake.fd(), POLLIN, 0};
    const auto left = std::chrono::ceil<Duration>(deadline - now());
    if (::poll(&waiting, 1, static_cast<int>(std::max(left, Duration::zero()).count())) > 0) wake.clear();
    return std::vector<Message>();
  }

  // Entries [id, [field, value, …]]; one that was deleted meanwhile has no fields.
  void take(const redisReply& entries, std::vector<Message>& messages) {
    for (const redisReply* entry : elements_of(entries)) {
      const std::span parts = elements_of(*entry);
      if (parts.size() != 2) continue;
      std::string id(text_of(*parts[0]));
      if (parts[1]->type != REDIS_REPLY_ARRAY) {
        (void)talking_->ask(
            {"XACK", options_.stream, options_.group, id});  // or it would be pending for ever
        continue;
      }
      const std::span words = elements_of(*parts[1]);
      StreamFields fields;
      for (std::size_t i = 0; i + 1 < words.size(); i += 2)
        fields.emplace_back(text_of(*words[i]), text_of(*words[i + 1]));
      if (!taken_.insert(id).second) continue;  // ours already, and still at work
      Message& message = messages.emplace_back(message_of(id, fields, options_.body));
      message.delivery.life = life_;
    }
  }

  Result<std::vector<Message>> claim_from_the_dead(std::size_t limit) {
    const Result<RedisReply> reply = talking_->ask({"XAUTOCLAIM", options_.stream, options_.group, consumer_,
                                                    std::to_string(options_.claim_after.count()), cursor_,
                                                    "COUNT", std::to_string(limit)});
    if (!reply) return reply.error();
    const std::span parts = elements_of(**reply);
    if (parts.size() < 2) return Error{Errc::unavailable, "XAUTOCLAIM: not an answer"};
    cursor_ = text_of(*parts[0]);
    std::vector<Message> messages;
    take(*parts[1], messages);
    // A pass over all that is pending, then a pause.
    if (cursor_ == "0-0") claim_at_ = now() + options_.claim_after / 2;
    return messages;
  }

  // What we are at work on counts as idle from its delivery on, however long the work takes: say that we
  // live.
  Result<Done> keep_ours() {
    if (now() < keep_at_) return Done{};
    keep_at_ = now() + options_.claim_after / 3;
    if (taken_.empty()) return Done{};
    RedisCommand command = {"XCLAIM", options_.stream, options_.group, consumer_, "0"};
    command.insert(command.end(), taken_.begin(), taken_.end());
    command.emplace_back("JUSTID");
    const Result<RedisReply> kept = talking_->ask(command);
    if (!kept) return kept.error();
    return Done{};
  }

  // With nothing left our name goes; else what is left looks as old as it must for others to claim it at
  // once.
  void hand_over() {
    const Result<RedisReply> forgotten =
        talking_->ask({"EVAL", forget_idle_consumer, "1", options_.stream, options_.group, consumer_});
    if (forgotten && (*forgotten)->integer == 1) return;
    const Result<RedisReply> pending =
        talking_->ask({"XPENDING", options_.stream, options_.group, "-", "+", "10000", consumer_});
    if (!pending) return;
    RedisCommand command = {"XCLAIM", options_.stream, options_.group, consumer_, "0"};
    const std::size_t without_entries = command.size();
    for (const redisReply* entry : elements_of(**pending)) {
      if (!elements_of(*entry).empty()) command.emplace_back(text_of(*elements_of(*entry)[0]));
    }
    if (command.size() == without_entries) return;
    command.insert(command.end(), {"IDLE", std::to_string(options_.claim_after.count()), "JUSTID"});
    (void)talking_->ask(command);
  }

  const RedisSourceOptions options_;
  const std::string consumer_;
  std::unique_ptr<RedisLine> reading_;  // one that may be kept waiting
  std::unique_ptr<RedisLine> talking_;
  std::set<std::string> taken_;  // entries that we are at work on
  std::uint64_t life_ = 0;
  bool asked_ = false;  // and not yet answered
  MonoTime answer_by_{};
  MonoTime claim_at_{};
  MonoTime keep_at_{};
  std::string cursor_ = "0-0";
  std::string resume_after_ = "0-0";
  bool resumed_ = false;
};

}  // namespace

Result<std::unique_ptr<MessageSource>> make_redis_source(const BrokerUrl& address,
                                                         const SourceOptions& options) {
  if (Result<Done> known = address.only(
          {"stream", "group", "body", "start", "claim_after", "timeout", "ca", "cert", "key", "verify"});
      !known)
    return known.error();
  if (address.hosts.size() != 1) return Error{Errc::invalid, "redis://: one address is expected"};
  RedisSourceOptions redis;
  redis.address = address;
  redis.stream = address.option("stream").value_or("");
  redis.group = address.option("group").value_or("");
  redis.body = address.option("body").value_or("");
  redis.start = address.option("start").value_or("0");
  redis.dead_letter = options.dead_letter.empty() ? redis.stream + ".dead" : options.dead_letter;
  if (redis.stream.empty()) return Error{Errc::invalid, "redis://…: ?stream=NAME is missing"};
  if (redis.group.empty()) return Error{Errc::invalid, "redis://…: ?group=NAME is missing"};
  const Result<Duration> claim_after = duration_option(address, "claim_after", Duration(60'000));
  if (!claim_after) return claim_after.error();
  const Result<Duration> timeout = duration_option(address, "timeout", Duration(5'000));
  if (!timeout) return timeout.error();
  redis.claim_after = *claim_after;
  redis.timeout = *timeout;
  return std::unique_ptr<MessageSource>(std::make_unique<RedisSource>(std::move(redis)));
}

}  // namespace onceward::messaging
