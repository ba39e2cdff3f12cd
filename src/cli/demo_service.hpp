// The demo's order service: a plain factory of orders that knows nothing of idempotency and loses some
// of its answers after having created the order. One Handler on one worker; counters from any thread.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "http/server.hpp"

namespace onceward::cli {

class DemoService final : public http::Handler {
 public:
  // `loss` is the share of answers that are lost, 0 to 1.
  DemoService(double loss, std::uint64_t seed) : loss_(loss), random_(seed) {}

  Task<> handle(http::Exchange& exchange) override;

  void stop_losing() { loss_ = 0; }
  std::size_t orders() const;
  // How many orders of this customer were created; the driver uses one customer per intent.
  std::size_t orders_of(const std::string& customer) const;

 private:
  struct Order {
    std::string id;
    std::string customer;
    std::string amount;
  };

  Task<> create(http::Exchange& exchange);
  Task<> list(http::Exchange& exchange);
  bool loses(const http::RequestHead& request);

  std::atomic<double> loss_;
  std::mt19937_64 random_;
  mutable std::mutex mutex_;
  std::vector<Order> orders_;
  std::map<std::string, std::size_t> by_customer_;
};

}  // namespace onceward::cli
