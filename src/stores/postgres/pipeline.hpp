// Pipeline: one connection in libpq's pipeline mode. Every errand is followed by its own Sync, so each is a
// transaction of its own and an error ends with it; the errand is over when that Sync is answered, because
// only then has the server committed. I/O thread only.
#pragma once

#include <libpq-fe.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "net/worker_io.hpp"
#include "stores/postgres/errand.hpp"
#include "stores/postgres/row.hpp"
#include "stores/postgres/server_error.hpp"

namespace onceward::postgres {

struct FinishConnection {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
using ConnectionPtr = std::unique_ptr<PGconn, FinishConnection>;

class Pipeline final : net::Watch {
 public:
  // `lost` is called when the connection is of no use any more; it may destroy this pipeline only later.
  Pipeline(net::Worker& worker, ConnectionPtr connection, std::function<void(const Error&)> lost,
           std::function<void(std::string_view channel_payload)> notified);
  ~Pipeline();

  void send(std::unique_ptr<Errand> errand);
  std::size_t in_flight() const { return in_flight_.size(); }
  bool is_broken() const { return broken_; }

 private:
  void on_event(std::uint32_t events) override;
  void read();
  void take_results(ReplyBatch& batch);
  void take(ResultPtr result, ReplyBatch& batch);
  void take_notifications();
  bool has_input() const;
  void flush();
  void arm();
  void break_off(Error error);
  static void on_notice(void* self, const PGresult* notice);

  struct Deadline : Timer {
    Pipeline* pipeline;
  };

  net::Worker& worker_;
  ConnectionPtr connection_;
  std::function<void(const Error&)> lost_;
  std::function<void(std::string_view)> notified_;
  std::deque<std::unique_ptr<Errand>> in_flight_;
  Deadline deadline_;
  bool head_failed_ = false;        // an error of the first errand came, its Sync has not
  bool head_unreplicated_ = false;  // its commit did not wait for the standby
  bool leave_ = false;              // after this batch: the server is no primary any more
  bool broken_ = false;
};

}  // namespace onceward::postgres
