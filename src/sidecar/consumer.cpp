#include "sidecar/consumer.hpp"

#include <poll.h>

#include <algorithm>

#include "core/ascii.hpp"
#include "core/pause.hpp"

namespace onceward::sidecar {
namespace {

using messaging::Message;
using messaging::MessageHeaders;

constexpr Duration turn_longest{5000};  // of waiting for messages
constexpr Duration reconnect_first{200};
constexpr Duration reconnect_longest{10'000};

MessageHeaders letter_headers(const DeadLetter& why, const Handled& handled, const std::string& consumer,
                              const std::string& from) {
  MessageHeaders headers = {{"x-onceward-error", why.error},
                            {"x-onceward-reason", std::string(why.reason)},
                            {std::string(attempts_header), std::to_string(handled.attempts)},
                            {"x-onceward-consumer", consumer},
                            {"x-onceward-from", from}};
  if (!handled.operation_id.empty()) headers.emplace_back("x-onceward-operation-id", handled.operation_id);
  return headers;
}

// Of an earlier death, or of a publisher who knows our names: they would say two things at once.
Message without_our_headers(Message message) {
  static constexpr std::string_view ours = "x-onceward-";
  std::erase_if(message.headers, [](const auto& header) {
    return std::ranges::equal(header.first.substr(0, ours.size()), ours, {}, ascii_lower);
  });
  return message;
}

}  // namespace

Consumer::Consumer(const SidecarContext& context, HandlerRules rules, std::shared_ptr<http::Upstream> service,
                   std::unique_ptr<messaging::MessageSource> source, std::size_t concurrency)
    : context_(context),
      name_(rules.target.consumer),
      concurrency_(concurrency),
      handler_(context, std::move(rules), std::move(service)),
      source_(std::move(source)) {}

Consumer::~Consumer() { join(); }

void Consumer::start() {
  thread_ = std::thread([this] { run(); });
}

void Consumer::stop(MonoTime deadline) {
  give_up_at_ = deadline;
  stopping_ = true;
  wake_.signal();
}

void Consumer::join() {
  if (thread_.joinable()) thread_.join();
}

std::string Consumer::problem() const {
  const std::scoped_lock lock(mutex_);
  return problem_;
}

void Consumer::set_problem(std::string text) {
  const std::scoped_lock lock(mutex_);
  problem_ = std::move(text);
}

bool Consumer::is_over() const {
  if (!stopping_) return false;
  return taken_ == 0 || net::Worker::now() >= give_up_at_.load();
}

void Consumer::run() {
  while (!is_over()) {
    if (!connected_) connect();
    Result<Done> settled = settle();
    if (settled && connected_ && !is_over()) settled = receive();
    if (!settled) lost(settled.error());
  }
  source_->leave();
}

void Consumer::connect() {
  const Result<Done> connected = source_->connect();
  if (connected) {
    failures_ = 0;
    connected_ = true;
    set_problem({});
    context_.log.info("taking messages", {{"consumer", name_}, {"from", source_->place()}});
    return;
  }
  lost(connected.error());
}

void Consumer::lost(const Error& why) {
  ++failures_;
  const bool was_connected = connected_.exchange(false);
  const Duration pause = pause_after(failures_, reconnect_first, reconnect_longest);
  if (was_connected) source_->leave();
  set_problem(why.message);
  context_.log.warning("no connection to the broker: trying again",
                       {{"consumer", name_}, {"reason", why.message}, {"after_ms", pause.count()}});
  pollfd waiting{wake_.fd(), POLLIN, 0};
  if (::poll(&waiting, 1, static_cast<int>(pause.count())) > 0) wake_.clear();
}

Result<Done> Consumer::receive() {
  const bool takes = !stopping_;
  const std::size_t room = takes && taken_ < concurrency_ ? concurrency_ - taken_ : 0;
  const MonoTime until = std::min(net::Worker::now() + turn_longest, give_up_at_.load());
  Result<std::vector<Message>> messages = source_->receive(room, wake_, until);
  if (!messages) return messages.error();
  if (!takes) return Done{};  // not acknowledged: others get them when we leave
  for (Message& message : *messages) {
    ++taken_;
    at_work_.fetch_add(1);
    auto shared = std::make_shared<const Message>(std::move(message));  // by the worker and, later, by us
    context_.worker.call([this, shared = std::move(shared)] { spawn(handle(shared)); });
  }
  return Done{};
}

Task<> Consumer::handle(std::shared_ptr<const Message> message) {
  Handled handled = co_await handler_.handle(*message, stopping_);
  {
    const std::scoped_lock lock(mutex_);
    ended_.push_back({std::move(message), std::move(handled)});
  }
  wake_.signal();
  at_work_.fetch_sub(1);
}

Result<Done> Consumer::settle() {
  std::vector<Ended> ended;
  {
    const std::scoped_lock lock(mutex_);
    ended.swap(ended_);
  }
  taken_ -= ended.size();
  // Without a connection there is nobody to tell; what was taken comes again, and is then found to be done.
  if (!connected_) return Done{};
  Result<Done> all = Done{};
  for (const Ended& each : ended) {
    if (all) all = settle(each);
  }
  return all;
}

Result<Done> Consumer::settle(const Ended& ended) {
  const Handled& handled = ended.handled;
  if (const auto* done = std::get_if<Acknowledge>(&handled.verdict)) {
    if (context_.log.enabled(LogLevel::debug))
      context_.log.message(LogLevel::debug, done->duplicate ? "duplicate" : "handled",
                           {{"consumer", name_},
                            {"operation_id", handled.operation_id},
                            {"attempts", static_cast<std::int64_t>(handled.attempts)},
                            {"key_hash", handled.key_hash}});
    return source_->acknowledge(ended.message->delivery);
  }
  const auto* dead = std::get_if<DeadLetter>(&handled.verdict);
  if (!dead) return Done{};  // we stop before its end: it comes again
  context_.log.warning("put aside as a dead letter",
                       {{"consumer", name_},
                        {"reason", dead->reason},
                        {"error", dead->error},
                        {"attempts", static_cast<std::int64_t>(handled.attempts)},
                        {"operation_id", handled.operation_id},
                        {"key_hash", handled.key_hash}});
  const Message letter = without_our_headers(*ended.message);
  return source_->dead_letter(letter, letter_headers(*dead, handled, name_, source_->place()));
}

}  // namespace onceward::sidecar
