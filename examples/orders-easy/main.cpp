// The first rung: a retry with the same key gets the same order. See README.md for what it lacks.
#include <map>
#include <mutex>

#include "orders/order_book.hpp"
#include "support/serve.hpp"

namespace {

// Which order a key stands for. One lock around looking and creating: two retries at the same moment must
// not both find nothing.
class OrdersByKey {
 public:
  struct Found {
    std::optional<examples::Order> order;
    bool created = false;
  };

  Found create_once(const std::string& key, examples::OrderBook& book, const std::string& body) {
    const std::scoped_lock lock(mutex_);
    if (const auto known = orders_.find(key); known != orders_.end()) return {known->second, false};
    std::optional<examples::Order> order = book.create(body);
    if (order) orders_.emplace(key, *order);
    return {order, true};
  }

 private:
  std::mutex mutex_;
  std::map<std::string, examples::Order> orders_;
};

}  // namespace

int main(int argc, char** argv) {
  const examples::EndSignals ends;
  auto options = examples::read_options(argc, argv, {{"port", "8081"}});
  examples::OrderBook book;
  OrdersByKey by_key;
  httplib::Server server;
  server.Post("/orders", [&](const httplib::Request& request, httplib::Response& response) {
    const std::string key = request.get_header_value("Idempotency-Key");
    if (key.empty()) {
      response.status = 400;
      return response.set_content("an Idempotency-Key is required\n", "text/plain");
    }
    const OrdersByKey::Found found = by_key.create_once(key, book, request.body);
    if (!found.order) {
      response.status = 400;
      return response.set_content("not an order\n", "text/plain");
    }
    response.status = found.created ? 201 : 200;
    response.set_content(found.order->json, "application/json");
  });
  server.Get("/orders", [&](const httplib::Request&, httplib::Response& response) {
    response.set_content(book.all(), "application/json");
  });
  return examples::serve(server, ends, "orders-easy", options["port"]);
}
