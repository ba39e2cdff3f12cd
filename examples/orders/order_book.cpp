#include "orders/order_book.hpp"

#include <boost/json.hpp>

namespace examples {
namespace json = boost::json;

std::optional<Order> OrderBook::create(std::string_view body) {
  boost::system::error_code failed;
  const json::value asked = json::parse(json::string_view(body.data(), body.size()), failed);
  if (failed || !asked.is_object() || !asked.as_object().contains("item")) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  Order order;
  order.id = std::to_string(orders_.size() + 1);
  json::object made = asked.as_object();
  made["id"] = order.id;
  order.json = json::serialize(made);
  orders_.push_back(order);
  return order;
}

std::string OrderBook::all() const {
  const std::scoped_lock lock(mutex_);
  std::string text = "[";
  for (const Order& order : orders_) text += (text.size() > 1 ? "," : "") + order.json;
  return text + "]";
}

}  // namespace examples
