// The second rung: tenants, a check of the payload, and no race between looking and creating that a lock
// around everything would have to prevent. Still in memory; see README.md.
#include <openssl/sha.h>

#include <algorithm>
#include <cctype>
#include <future>
#include <map>
#include <mutex>
#include <utility>

#include "orders/order_book.hpp"
#include "support/serve.hpp"

namespace {

using Fingerprint = std::string;  // SHA-256 of the body

Fingerprint fingerprint(const std::string& body) {
  Fingerprint digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(body.data()), body.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

bool is_uuid(const std::string& text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !std::isxdigit(static_cast<unsigned char>(text[i]))) return false;
  }
  return true;
}

// One key of one tenant. Whoever begins it creates the order; everybody else waits for that result.
struct Entry {
  Fingerprint fingerprint;
  std::shared_future<std::optional<examples::Order>> order;
};

class IdempotentOrders {
 public:
  enum class How { created, replayed, other_payload };
  struct Result {
    How how;
    std::optional<examples::Order> order;
  };

  Result create(const std::string& tenant, const std::string& key, const std::string& body,
                examples::OrderBook& book) {
    std::promise<std::optional<examples::Order>> promise;
    const Fingerprint mine = fingerprint(body);
    Entry entry;
    bool first = false;
    {
      // Only the decision is made under the lock; orders of different keys are created at the same time.
      const std::scoped_lock lock(mutex_);
      auto [found, added] = entries_.try_emplace({tenant, key}, Entry{mine, promise.get_future().share()});
      entry = found->second;
      first = added;
    }
    if (entry.fingerprint != mine) return {How::other_payload, std::nullopt};
    if (!first) return {How::replayed, entry.order.get()};
    std::optional<examples::Order> order = book.create(body);
    promise.set_value(order);
    return {How::created, order};
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Entry> entries_;
};

void refuse(httplib::Response& response, int status, const char* why) {
  response.status = status;
  response.set_content(why, "text/plain");
}

}  // namespace

int main(int argc, char** argv) {
  const examples::EndSignals ends;
  auto options = examples::read_options(argc, argv, {{"port", "8082"}});
  examples::OrderBook book;
  IdempotentOrders orders;
  httplib::Server server;
  server.Post("/orders", [&](const httplib::Request& request, httplib::Response& response) {
    std::string tenant = request.get_header_value("X-Tenant-ID");
    const std::string key = request.get_header_value("Idempotency-Key");
    if (!is_uuid(tenant)) return refuse(response, 400, "X-Tenant-ID must be a UUID\n");
    if (key.empty() || key.size() > 255) {
      return refuse(response, 400, "Idempotency-Key must have 1 to 255 characters\n");
    }
    std::ranges::transform(tenant, tenant.begin(), [](unsigned char c) { return std::tolower(c); });
    const IdempotentOrders::Result result = orders.create(tenant, key, request.body, book);
    if (result.how == IdempotentOrders::How::other_payload) {
      return refuse(response, 409, "this key was used for another order\n");
    }
    if (!result.order) return refuse(response, 400, "not an order\n");
    response.status = result.how == IdempotentOrders::How::created ? 201 : 200;
    response.set_content(result.order->json, "application/json");
  });
  server.Get("/orders", [&](const httplib::Request&, httplib::Response& response) {
    response.set_content(book.all(), "application/json");
  });
  return examples::serve(server, ends, "orders-mature", options["port"]);
}
