// Consumer: takes messages from one source, on a thread of its own because brokers' libraries block, gives
// them to its Handler on the worker, and settles them with the broker when their outcome is durable, never
// before. Made, started and stopped by the main thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "messaging/brokers/message_source.hpp"
#include "sidecar/handler.hpp"

namespace onceward::sidecar {

class Consumer {
 public:
  Consumer(const SidecarContext& context, HandlerRules rules, std::shared_ptr<http::Upstream> service,
           std::unique_ptr<messaging::MessageSource> source, std::size_t concurrency);
  ~Consumer();
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  const std::string& name() const { return name_; }
  void start();
  bool is_connected() const { return connected_.load(); }
  std::string problem() const;  // why it is not connected; empty: it is

  // Takes no more messages; join() returns when those at work have been settled, or at the deadline.
  void stop(MonoTime deadline);
  void join();
  bool is_quiet() const { return at_work_.load() == 0; }  // nothing of it runs on the worker

 private:
  struct Ended {
    std::shared_ptr<const messaging::Message> message;
    Handled handled;
  };

  void run();
  bool is_over() const;
  void connect();
  Result<Done> receive();
  Result<Done> settle();
  Result<Done> settle(const Ended& ended);
  void lost(const Error& why);
  Task<> handle(std::shared_ptr<const messaging::Message> message);
  void set_problem(std::string text);

  const SidecarContext context_;
  const std::string name_;
  const std::size_t concurrency_;
  Handler handler_;
  const std::unique_ptr<messaging::MessageSource> source_;  // the thread's
  std::thread thread_;
  messaging::WakeUp wake_;
  std::atomic<bool> connected_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<MonoTime> give_up_at_{MonoTime::max()};
  std::atomic<std::size_t> at_work_{0};
  std::size_t taken_ = 0;  // from the broker and not settled; the thread's
  std::uint64_t failures_ = 0;

  mutable std::mutex mutex_;
  std::vector<Ended> ended_;  // by the worker, for the thread
  std::string problem_ = "not connected yet";
};

}  // namespace onceward::sidecar
