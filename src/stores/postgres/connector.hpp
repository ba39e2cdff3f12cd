// Connector: makes connections on a thread of its own, one at a time, because looking names up, the schema
// check and a migration block. It tries again for ever, with a growing and scattered pause. Whoever asks gets
// each connection, ready for use, through a callback on the connector's thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

#include "stores/postgres/session.hpp"
#include "stores/postgres/url.hpp"

namespace onceward::postgres {

enum class Role { verbs, chores, listener };

// What a new connection told about its server.
struct ServerFacts {
  bool is_pooled = false;  // a pooler is in between: the session is not ours
  std::string durability;  // for /readyz
};

struct Connected {
  Role role = Role::verbs;
  std::size_t slot = 0;
  ConnectionPtr connection;
  ServerFacts facts;
};

class Connector {
 public:
  using OnConnected = std::function<void(Connected)>;
  using OnFailed = std::function<void(const Error&)>;
  Connector(const PostgresUrl& url, OnConnected connected, OnFailed failed);
  ~Connector();

  void want(Role role, std::size_t slot);  // any thread
  void stop();                             // no callback after it has returned; idempotent

 private:
  struct Wish {
    Role role;
    std::size_t slot;
  };
  void loop();
  bool pause();
  Result<Connected> connect(const Wish& wish);
  Result<Done> prepare_listener(Session& session, bool pooled, MonoTime deadline);

  const PostgresUrl& url_;
  const OnConnected connected_;
  const OnFailed failed_;
  StopSignal stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Wish> wishes_;  // guarded by mutex_
  bool ending_ = false;      // guarded by mutex_
  int failures_ = 0;
  std::size_t first_server_ = 0;  // the host that answered last
  std::size_t first_listener_ = 0;
  std::minstd_rand chance_;
  std::thread thread_;
};

}  // namespace onceward::postgres
