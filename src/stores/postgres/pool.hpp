// Pool: the store's I/O thread with its connections. Errands come in from any thread; each goes to the
// connection with the least to do. While no connection stands, errands wait for the attempt under way, and
// are refused at once when it fails: nothing was sent for them.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "net/worker.hpp"
#include "stores/postgres/connector.hpp"
#include "stores/postgres/errand.hpp"
#include "stores/postgres/pipeline.hpp"
#include "stores/postgres/watches.hpp"

namespace onceward::postgres {

struct PoolState {
  bool connected = false;  // verbs and chores can be done
  bool pooled = false;
  std::string durability;
  std::string message;  // why it is not connected
};

class Pool {
 public:
  Pool(PostgresUrl url, Watches& watches);
  ~Pool();

  void submit(std::unique_ptr<Errand> errand);  // any thread
  PoolState state() const;                      // any thread
  // Any thread: notifications arrive, so asking for them is of use.
  bool hears() const { return hears_.load(std::memory_order_relaxed); }

 private:
  struct Lane {
    Role role;
    std::unique_ptr<Pipeline> pipeline;
  };
  // Errands of one kind that wait for a connection.
  struct Queue {
    std::deque<std::unique_ptr<Errand>> waiting;
    bool down = false;  // the last attempt failed
    Error why;
  };

  void take(std::unique_ptr<Errand> errand);
  void connected(Connected made);
  void failed(const Error& error);
  void lost(std::size_t slot, const Error& error);
  void notified(std::string_view payload);
  Lane* best_lane(Role role);
  Queue& queue_of(Role role) { return queues_[role == Role::verbs ? 0 : 1]; }
  void send_waiting(Role role);
  void refuse_waiting(Queue& queue, const Error& error);
  void expire_waiting();
  void publish();

  struct Alarm : Timer {
    Pool* pool;
  };

  const PostgresUrl url_;
  Watches& watches_;
  net::Worker worker_;
  std::vector<Lane> lanes_;
  Queue queues_[2];
  Alarm alarm_;
  ServerFacts facts_;
  std::atomic<bool> hears_{false};
  mutable std::mutex mutex_;
  PoolState state_;  // guarded by mutex_
  Connector connector_;
  std::thread thread_;
};

}  // namespace onceward::postgres
