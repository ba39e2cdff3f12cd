// OutboxRunner: the relay of this process with what it runs on: a thread of its own, a sink, a bell for those
// who write events, and somebody who counts and logs. Made, started and stopped by the main thread; anyone
// may ring.
#pragma once

#include <memory>
#include <thread>

#include "config/config.hpp"
#include "messaging/outbox_bell.hpp"
#include "messaging/relay.hpp"
#include "messaging/sending_thread.hpp"
#include "net/worker.hpp"
#include "ops/log.hpp"
#include "ops/metrics.hpp"

namespace onceward::cli {

struct OutboxContext {
  Store& store;
  const Clock& clock;
  Random& random;
  Log& log;
  OutboxCounts& counts;
};

class OutboxRunner {
 public:
  // Errc::invalid: the sink cannot work, or the store keeps no events.
  static Result<std::unique_ptr<OutboxRunner>> make(const config::OutboxConfig& config,
                                                    const OutboxContext& context);
  ~OutboxRunner();
  OutboxRunner(const OutboxRunner&) = delete;
  OutboxRunner& operator=(const OutboxRunner&) = delete;

  void ring(std::uint16_t partition) { bell_.ring(partition); }
  void start();
  // Sends what is due for a while, gives the claims up and returns. Nobody rings afterwards.
  void stop();

 private:
  class Observer;
  OutboxRunner(const config::OutboxConfig& config, const OutboxContext& context,
               std::unique_ptr<messaging::EventSink> sink);

  const Clock& clock_;
  net::Worker worker_;
  std::unique_ptr<Observer> observer_;
  messaging::SendingThread sender_;
  messaging::Relay relay_;
  messaging::OutboxBell bell_;
  std::thread thread_;
};

}  // namespace onceward::cli
