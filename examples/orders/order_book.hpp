// OrderBook: the shop itself, a plain factory of orders that knows nothing of retries, keys or tenants. The
// three order services differ only in what stands before it. Any thread.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace examples {

struct Order {
  std::string id;
  std::string json;
};

class OrderBook {
 public:
  // A new order for a body such as {"item": "book", "quantity": 2}; nothing when it is no order.
  std::optional<Order> create(std::string_view body);
  std::string all() const;  // a JSON array

 private:
  mutable std::mutex mutex_;
  std::vector<Order> orders_;
};

}  // namespace examples
