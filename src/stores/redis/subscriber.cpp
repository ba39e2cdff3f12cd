#include "stores/redis/subscriber.hpp"

namespace onceward::redis {
namespace {

constexpr Duration retry_pause{500};
constexpr Duration tick{2000};  // of cleaning up
constexpr int ticks_of_silence = 5;
constexpr Duration kept_for{2000};  // a subscription that nobody watches

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
    unsubscribe_unwatched();
    if (!stopping_) (void)co_await pause_.wait(now() + retry_pause);
  }
}

Task<> Subscriber::listen() {
  {
    const std::lock_guard lock(mutex_);
    out_.clear();
    for (const auto& [channel, watched] : watches_) append_command(out_, {"SUBSCRIBE", channel});
  }
  listening_ = true;
  send_later();
  for (int silent = 0; silent <= ticks_of_silence;) {
    const Result<RespReply> message = co_await link_.read(now() + tick);
    if (message && is_error(**message)) break;
    if (message) {
      silent = 0;
      take(**message);
      continue;
    }
    if (!link_.is_open()) break;
    unsubscribe_unwatched();
    if (++silent == ticks_of_silence) append_command(out_, {"PING"});  // is there still somebody?
    send_later();
  }
  listening_ = false;
}

void Subscriber::take(const redisReply& message) {
  const auto parts = elements_of(message);
  if (parts.size() != 3) return;
  const std::string_view kind = text_of(*parts[0]);
  if (kind != "message" && kind != "subscribe") return;
  const std::lock_guard lock(mutex_);
  const auto found = watches_.find(text_of(*parts[1]));
  if (found != watches_.end()) wake(found->second);
}

// Under the lock, so that nothing is called after unwatch has returned.
void Subscriber::wake(Watched& watched) {
  watched.missed = !watched.changed;
  if (watched.changed) watched.changed();
}

void Subscriber::unsubscribe_unwatched() {
  const std::lock_guard lock(mutex_);
  std::erase_if(watches_, [&](const auto& entry) {
    if (entry.second.changed || entry.second.unwatched_at + kept_for > now()) return false;
    append_command(out_, {"UNSUBSCRIBE", entry.first});
    return true;
  });
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
    const auto [entry, is_new] = watches_.try_emplace(channel);
    entry->second.changed = std::move(changed);
    if (!is_new) {
      if (entry->second.missed) wake(entry->second);
      return;
    }
  }
  worker_.call([this, channel] {
    if (!listening_) return;  // whoever begins to listen subscribes to all
    append_command(out_, {"SUBSCRIBE", channel});
    send_later();
  });
}

void Subscriber::unwatch(const std::string& channel) {
  const std::lock_guard lock(mutex_);
  const auto found = watches_.find(channel);
  if (found == watches_.end()) return;
  found->second.changed = nullptr;
  found->second.unwatched_at = now();
}

}  // namespace onceward::redis
