// Subscriber: wake-ups across machines. A second connection subscribes to the channels of the records that
// somebody waits for; their scripts publish. Lossy: whoever waits also asks now and then. watch and unwatch
// may be called from any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "stores/redis/router.hpp"

namespace onceward::redis {

class Subscriber {
 public:
  Subscriber(net::Worker& worker, TaskGroup& tasks, const RedisUrl& url, SSL_CTX* tls, const Router& router);

  void start();
  void stop();

  void watch(const std::string& channel, std::function<void()> changed);
  void unwatch(const std::string& channel);

 private:
  struct Watched {
    std::function<void()> changed;  // empty: nobody watches at the moment
    bool missed = false;            // a message came meanwhile
    MonoTime unwatched_at{};
  };

  Task<> live();
  Task<> listen();
  void take(const redisReply& message);
  void wake(Watched& watched);
  void unsubscribe_unwatched();
  Task<> send();
  void send_later();

  net::Worker& worker_;
  TaskGroup& tasks_;
  const RedisUrl& url_;
  const Router& router_;
  Link link_;
  bool stopping_ = false;
  bool listening_ = false;
  bool sending_ = false;
  net::WaitList pause_;
  net::WaitList sent_;
  std::string out_;

  std::mutex mutex_;
  std::map<std::string, Watched, std::less<>> watches_;  // guarded by mutex_
};

}  // namespace onceward::redis
