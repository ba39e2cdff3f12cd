#include "stores/redis/subscriber.hpp"

namespace onceward::redis {
namespace {

constexpr Duration retry_pause{500};
constexpr Duration ping_interval{10'000};

MonoTime now() { return net::Worker::now(); }

}  // namespace

Subscriber::Subscriber(net::Worker& worker, TaskGroup& tasks, const RedisUrl& url, SSL_CTX* tls,
                       const Router& router)
    : worker_(worker),
      tasks_(tasks),
      url_(url),
      router_(router),
      link_(worker, tls, url.tls.verify),
      pause_(worker),
      sent_(worker) {}

void Subscriber::start() { tasks_.start(live()); }

void Subscriber::stop() {
  stopping_ = true;
  link_.close();
  pause_.wake_all();
}

// Where records are written, messages are published: it follows the connection that has been found good.
Task<> Subscriber::live() {
  while (!stopping_) {
    if (const Connection* good = router_.any_ready()) {
      const MonoTime deadline = now() + url_.connect_timeout;
      Result<Done> connected = co_await link_.connect(good->endpoint(), deadline);
      if (connected) connected = co_await link_.introduce(url_.credentials, 0, deadline);
      if (connected && !stopping_) co_await listen();
      link_.close();
      if (sending_) (void)co_await sent_.wait(MonoTime::max());
      link_.forget();
    }
    if (!stopping_) (void)co_await pause_.wait(now() + retry_pause);
  }
}

Task<> Subscriber::listen() {
  {
    const std::lock_guard lock(mutex_);
    out_.clear();
    for (const auto& [channel, changed] : watches_) append_command(out_, {"SUBSCRIBE", channel});
  }
  listening_ = true;
  send_later();
  bool pinged = false;
  for (;;) {
    const Result<RespReply> message = co_await link_.read(now() + ping_interval);
    if (!message && link_.is_open() && !pinged) {  // silence: is there still somebody?
      append_command(out_, {"PING"});
      send_later();
      pinged = true;
      continue;
    }
    if (!message || is_error(**message)) break;
    pinged = false;
    const auto parts = elements_of(**message);
    if (parts.size() != 3 || text_of(*parts[0]) != "message") continue;
    // Called under the lock, so that it is never called after unwatch has returned.
    const std::lock_guard lock(mutex_);
    const auto found = watches_.find(text_of(*parts[1]));
    if (found != watches_.end()) found->second();
  }
  listening_ = false;
}

void Subscriber::send_later() {
  if (sending_ || out_.empty() || !listening_) return;
  sending_ = true;
  tasks_.start(send());
}

Task<> Subscriber::send() {
  while (listening_ && !out_.empty()) {
    const std::string now_out = std::exchange(out_, {});
    if (!co_await link_.write(now_out, now() + url_.timeout)) break;
  }
  sending_ = false;
  sent_.wake_all();
}

void Subscriber::watch(const std::string& channel, std::function<void()> changed) {
  {
    const std::lock_guard lock(mutex_);
    watches_.insert_or_assign(channel, std::move(changed));
  }
  worker_.call([this, channel] {
    if (!listening_) return;  // whoever begins to listen subscribes to all
    append_command(out_, {"SUBSCRIBE", channel});
    send_later();
  });
}

void Subscriber::unwatch(const std::string& channel) {
  {
    const std::lock_guard lock(mutex_);
    watches_.erase(channel);
  }
  worker_.call([this, channel] {
    if (!listening_) return;  // whoever begins to listen subscribes to all
    append_command(out_, {"UNSUBSCRIBE", channel});
    send_later();
  });
}

}  // namespace onceward::redis
