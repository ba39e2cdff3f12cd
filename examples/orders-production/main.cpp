// The third rung: the plain order service behind Onceward's filter, with a store that is chosen by one
// setting. OrderService is all there is of the service, and it knows nothing of idempotency.
#include <chrono>
#include <thread>

#include "onceward/middleware/beast.hpp"
#include "orders-production/store_settings.hpp"
#include "orders/order_book.hpp"
#include "support/beast_server.hpp"

namespace {

namespace http = boost::beast::http;
using examples::BeastServer;

BeastServer::Response answer(const BeastServer::Request& request, http::status status, const char* type,
                             std::string body) {
  BeastServer::Response response{status, request.version()};
  response.set(http::field::content_type, type);
  response.keep_alive(request.keep_alive());
  response.body() = std::move(body);
  response.prepare_payload();
  return response;
}

class OrderService {
 public:
  BeastServer::Response operator()(const BeastServer::Request& request) {
    if (request.target() != "/orders")
      return answer(request, http::status::not_found, "text/plain", "no such thing\n");
    if (request.method() == http::verb::get) {
      return answer(request, http::status::ok, "application/json", book_.all());
    }
    // For trying out what happens meanwhile.
    std::this_thread::sleep_for(
        std::chrono::milliseconds(std::atoi(std::string(request["Simulate-Work-Ms"]).c_str())));
    const std::optional<examples::Order> order = book_.create(request.body());
    if (!order) return answer(request, http::status::bad_request, "text/plain", "not an order\n");
    BeastServer::Response created = answer(request, http::status::created, "application/json", order->json);
    created.set(http::field::location, "/orders/" + order->id);
    return created;
  }

 private:
  examples::OrderBook book_;
};

int fail(const std::string& message, int code) {
  std::fprintf(stderr, "orders-production: %s\n", message.c_str());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const examples::EndSignals ends;
  auto options = examples::read_options(argc, argv,
                                        {{"port", "8083"},
                                         {"settings", ""},
                                         {"store", ""},
                                         {"store.type", ""},
                                         {"store.key-prefix", ""},
                                         {"store.ttl", ""},
                                         {"store.lock-ttl", ""},
                                         {"store.max-response-bytes", ""}});
  const onceward::Result<onceward::Settings> settings = examples::read_store_settings(options);
  if (!settings) return fail(settings.error().message, 2);
  onceward::Result<onceward::Engine> engine = onceward::Engine::open(settings->engine);
  if (!engine) return fail(engine.error().message, engine.error().code == onceward::Errc::invalid ? 2 : 1);
  onceward::HttpGuard guard(*engine, settings->http);

  OrderService service;
  const onceward::BeastFilter filter(guard,
                                     [&](const BeastServer::Request& request) { return service(request); });
  BeastServer server([&](const BeastServer::Request& request) { return filter(request); });
  return server.serve(ends, "orders-production", options["port"]);
}
