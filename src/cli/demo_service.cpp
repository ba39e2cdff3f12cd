#include "cli/demo_service.hpp"

#include <boost/json.hpp>

#include "core/json_slice.hpp"

namespace onceward::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t body_bytes_max = 64 * 1024;
constexpr std::size_t listed_max = 100;
constexpr std::string_view json_lines = "Content-Type: application/json\r\n";

// The amount as it was written, so that the order shows what was asked for and not what a double makes of it.
std::optional<std::string> amount_of(const json::object& body, std::string_view text) {
  const json::value* amount = body.if_contains("amount");
  if (!amount || !amount->is_number()) return std::nullopt;
  const Result<std::string_view> written = json_slice(text, "/amount");
  return written ? std::string(*written) : json::serialize(*amount);
}

std::string order_json(const std::string& id, const std::string& customer, const std::string& amount) {
  return "{\"id\":" + json::serialize(json::string(id)) +
         ",\"customerId\":" + json::serialize(json::string(customer)) + ",\"amount\":" + amount + "}";
}

}  // namespace

Task<> DemoService::handle(http::Exchange& exchange) {
  const http::RequestHead& request = exchange.request();
  if (request.path() == "/api/orders" && request.method == "POST") {
    co_await create(exchange);
  } else if (request.path() == "/api/orders" && request.method == "GET") {
    co_await list(exchange);
  } else {
    (void)co_await exchange.respond(404, json_lines, "{\"error\":\"no such page\"}");
  }
}

Task<> DemoService::create(http::Exchange& exchange) {
  std::string text;
  if (co_await exchange.read_body(body_bytes_max, text) != http::ReadBody::ok) {
    (void)co_await exchange.respond(400, json_lines, "{\"error\":\"cannot read the body\"}");
    co_return;
  }
  boost::system::error_code error;
  const json::value body = json::parse(text, error);
  const json::value* customer =
      !error && body.is_object() ? body.get_object().if_contains("customerId") : nullptr;
  const std::optional<std::string> amount = customer ? amount_of(body.get_object(), text) : std::nullopt;
  if (!customer || !customer->is_string() || !amount) {
    (void)co_await exchange.respond(400, json_lines,
                                    "{\"error\":\"customerId (string) and amount (number) are needed\"}");
    co_return;
  }
  const std::string name(customer->get_string());
  std::string id;
  {
    std::lock_guard lock(mutex_);
    id = "ord_" + std::to_string(orders_.size() + 1);
    orders_.push_back({id, name, *amount});
    ++by_customer_[name];
  }
  // The order exists. Whether anybody hears of it is another matter.
  if (loses(exchange.request())) {
    exchange.abort();
    co_return;
  }
  const std::string lines = std::string(json_lines) + "Location: /api/orders/" + id + "\r\n";
  (void)co_await exchange.respond(201, lines, order_json(id, name, *amount));
}

Task<> DemoService::list(http::Exchange& exchange) {
  std::string body;
  {
    std::lock_guard lock(mutex_);
    body = "{\"count\":" + std::to_string(orders_.size()) + ",\"latest\":[";
    const std::size_t first = orders_.size() - std::min(orders_.size(), listed_max);
    for (std::size_t i = first; i < orders_.size(); ++i) {
      if (i != first) body += ',';
      body += order_json(orders_[i].id, orders_[i].customer, orders_[i].amount);
    }
    body += "]}";
  }
  (void)co_await exchange.respond(200, json_lines, body);
}

bool DemoService::loses(const http::RequestHead& request) {
  if (request.headers.find("X-Lose-Answer")) return true;
  return std::uniform_real_distribution<>(0, 1)(random_) < loss_;
}

std::size_t DemoService::orders() const {
  std::lock_guard lock(mutex_);
  return orders_.size();
}

std::size_t DemoService::orders_of(const std::string& customer) const {
  std::lock_guard lock(mutex_);
  const auto found = by_customer_.find(customer);
  return found == by_customer_.end() ? 0 : found->second;
}

}  // namespace onceward::cli
