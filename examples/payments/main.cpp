// A payment service to put behind the proxy. It has no table of keys: the proxy guards it. What it adds is
// what only it can: the provider's own idempotency key, made of the operation id, and an answer to the
// question of a probe, whether an operation took effect.
#include <boost/json.hpp>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "support/serve.hpp"

namespace {

namespace json = boost::json;

// The card network, as far as an example needs it: it moves money once per key of its own.
class FakeProvider {
 public:
  std::string move(const std::string& key, const json::object& what) {
    const std::scoped_lock lock(mutex_);
    const auto [found, first] = moved_.try_emplace(key, "tx-" + std::to_string(moved_.size() + 1));
    if (first) movements_.push_back(json::object{{"id", found->second}, {"key", key}, {"what", what}});
    return found->second;
  }
  std::string movements() const {
    const std::scoped_lock lock(mutex_);
    return json::serialize(movements_);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> moved_;
  json::array movements_;
};

// What each operation did, for the probe.
class Ledger {
 public:
  void add(const std::string& operation_id, const std::string& done) {
    const std::scoped_lock lock(mutex_);
    done_.insert_or_assign(operation_id, done);
  }
  std::string find(const std::string& operation_id) const {
    const std::scoped_lock lock(mutex_);
    const auto found = done_.find(operation_id);
    return found == done_.end() ? std::string() : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> done_;
};

class Payments {
 public:
  explicit Payments(std::chrono::milliseconds slow) : slow_(slow) {}

  // `kind` is charge or refund: the same key under another operation is another intent.
  void pay(const std::string& kind, const httplib::Request& request, httplib::Response& response) {
    const std::string operation_id = request.get_header_value("Onceward-Operation-Id");
    boost::system::error_code failed;
    const json::value asked = json::parse(request.body, failed);
    if (operation_id.empty() || failed || !asked.is_object() || !asked.as_object().contains("amount")) {
      response.status = 400;
      return response.set_content("an operation id and an amount are needed\n", "text/plain");
    }
    // For trying it out: an answer that comes too late, with or without the money having moved.
    const json::value* simulate = asked.as_object().if_contains("simulate");
    const bool lost_before = simulate && *simulate == "lost-request";
    response.status = 503;
    if (!lost_before) {
      const std::string transaction = provider_.move(kind + ":" + operation_id, asked.as_object());
      const json::object done{{"kind", kind},
                              {"transaction", transaction},
                              {"amount", asked.as_object().at("amount")},
                              {"operation_id", operation_id}};
      response.status = 201;
      response.set_content(json::serialize(done), "application/json");
      ledger_.add(operation_id, response.body);
    }
    if (simulate) std::this_thread::sleep_for(slow_);
  }

  void by_operation(const httplib::Request& request, httplib::Response& response) const {
    const std::string done = ledger_.find(request.matches[1]);
    response.status = done.empty() ? 404 : 200;
    response.set_content(done.empty() ? "{}" : done, "application/json");
  }

  std::string movements() const { return provider_.movements(); }

 private:
  const std::chrono::milliseconds slow_;
  FakeProvider provider_;
  Ledger ledger_;
};

}  // namespace

int main(int argc, char** argv) {
  const examples::EndSignals ends;
  auto options = examples::read_options(argc, argv, {{"port", "8084"}, {"slow-ms", "2000"}});
  Payments payments{std::chrono::milliseconds(std::atoi(options["slow-ms"].c_str()))};
  httplib::Server server;
  using httplib::Request;
  using httplib::Response;
  server.Post("/payments", [&](const Request& in, Response& out) { payments.pay("charge", in, out); });
  server.Post("/refunds", [&](const Request& in, Response& out) { payments.pay("refund", in, out); });
  server.Get(R"(/payments/by-operation/([0-9a-f-]+))",
             [&](const Request& in, Response& out) { payments.by_operation(in, out); });
  server.Get("/provider/movements", [&](const Request&, Response& out) {
    out.set_content(payments.movements(), "application/json");
  });
  return examples::serve(server, ends, "payments", options["port"]);
}
