#include "stores/redis/redis_cache.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "base/hex.hpp"
#include "net/tls.hpp"
#include "stores/redis/io_thread.hpp"
#include "stores/redis/router.hpp"
#include "stores/redis/subscriber.hpp"

namespace onceward::redis {
namespace {

constexpr Duration default_timeout{200};
// Copies that are on their way; beyond, new ones are not worth their memory.
constexpr int puts_max = 1000;
constexpr Duration first_wait{1000};

class RedisCache final : public OutcomeCache {
 public:
  RedisCache(RedisUrl url, net::TlsContext tls)
      : url_(std::move(url)),
        tls_(std::move(tls)),
        router_(io_.worker(), io_.tasks(), url_, tls_.get(), Purpose::copies, [this] { note_trouble(); }),
        subscriber_(io_.worker(), io_.tasks(), url_, tls_.get(), router_) {
    io_.start([this] {
      router_.start();
      subscriber_.start();
    });
  }
  ~RedisCache() override {
    io_.stop([this] {
      subscriber_.stop();
      router_.stop();
    });
  }

  void wait_for_first_attempt() {
    std::unique_lock lock(mutex_);
    told_.wait_for(lock, first_wait, [this] { return tried_; });
  }

  bool is_reachable() const override { return reachable_.load(std::memory_order_relaxed); }

  bool get(const Scope& scope, Reply<std::string>& reply) override {
    io_.ask(reply, [this, scope] { return do_get(key_of(scope)); });
    return false;
  }
  void put(const Scope& scope, std::string bytes, Duration life) override {
    if (puts_.fetch_add(1, std::memory_order_relaxed) >= puts_max) {
      puts_.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
    io_.start_task([this, scope, life, bytes = std::move(bytes)]() mutable {
      return do_put(key_of(scope), std::move(bytes), life);
    });
  }
  bool remove(const Scope& scope, Reply<Done>& reply) override {
    io_.ask(reply, [this, scope] { return do_remove(key_of(scope)); });
    return false;
  }

  void announce(const Scope& scope) override {
    io_.start_task([this, scope] { return do_announce(key_of(scope)); });
  }
  void watch(const Scope& scope, std::function<void()> changed) override {
    subscriber_.watch(key_of(scope), std::move(changed));
  }
  void unwatch(const Scope& scope) override { subscriber_.unwatch(key_of(scope)); }

 private:
  std::string key_of(const Scope& scope) const { return url_.prefix + "copy:{" + to_hex(scope.data) + "}"; }

  void note_trouble() {
    reachable_.store(!router_.trouble(), std::memory_order_relaxed);
    if (!router_.tried()) return;
    const std::lock_guard lock(mutex_);
    tried_ = true;
    told_.notify_all();
  }

  Task<Result<RespReply>> ask(std::string key, std::initializer_list<std::string_view> words) {
    Call call;
    append_command(call.bytes, words);
    return send(std::move(key), std::move(call));
  }
  Task<Result<RespReply>> send(std::string key, Call call) {
    call.deadline = net::Worker::now() + url_.timeout;
    co_await router_.ask(slot_of(key), call);
    if (call.reply && is_error(**call.reply))
      co_return Error{Errc::unavailable, std::string(text_of(**call.reply))};
    co_return std::move(call.reply);
  }

  Task<Result<std::string>> do_get(std::string key) {
    const Result<RespReply> reply = co_await ask(key, {"GET", key});
    if (!reply) co_return reply.error();
    if ((*reply)->type != REDIS_REPLY_STRING) co_return Error{Errc::not_found, "no copy"};
    co_return std::string(text_of(**reply));
  }
  Task<> do_put(std::string key, std::string bytes, Duration life) {
    (void)co_await ask(key, {"SET", key, bytes, "PX", std::to_string(life.count())});
    puts_.fetch_sub(1, std::memory_order_relaxed);
  }
  Task<Result<Done>> do_remove(std::string key) {
    const Result<RespReply> reply = co_await ask(key, {"DEL", key});
    if (!reply) co_return reply.error();
    co_return Done{};
  }
  Task<> do_announce(std::string key) { (void)co_await ask(key, {"PUBLISH", key, "changed"}); }

  const RedisUrl url_;
  const net::TlsContext tls_;
  IoThread io_;
  Router router_;
  Subscriber subscriber_;
  std::atomic<bool> reachable_{false};
  std::atomic<int> puts_{0};
  std::mutex mutex_;
  std::condition_variable told_;
  bool tried_ = false;  // guarded by mutex_
};

}  // namespace

Result<std::unique_ptr<OutcomeCache>> open_redis_cache(std::string_view url) {
  Result<RedisUrl> parsed = parse_redis_url(url, {.timeout = default_timeout});
  if (!parsed) return parsed.error();
  Result<net::TlsContext> tls = make_tls(*parsed);
  if (!tls) return tls.error();
  auto cache = std::make_unique<RedisCache>(std::move(*parsed), std::move(*tls));
  cache->wait_for_first_attempt();
  return Result<std::unique_ptr<OutcomeCache>>(std::move(cache));
}

}  // namespace onceward::redis
