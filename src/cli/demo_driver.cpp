#include "cli/demo_driver.hpp"

namespace onceward::cli {
namespace {

constexpr std::size_t attempts_max = 5;

struct Heard {
  int status = 0;  // 0: nothing came back
  bool replayed = false;
  bool unknown = false;
};

Task<Heard> post_order(http::Upstream& target, const std::string& head, const std::string& body) {
  const MonoTime deadline = net::Worker::now() + std::chrono::seconds(5);
  Result<http::Lease> lease = co_await target.checkout(deadline);
  if (!lease) co_return Heard{};
  if (co_await lease->send(head, body, deadline) != http::Sent::ok) co_return Heard{};
  if (co_await lease->read_head("POST", deadline) != http::HeadStatus::head) co_return Heard{};
  Heard heard{lease->head().status, lease->head().headers.find("Idempotent-Replayed").has_value(), false};
  std::string answer;
  if (co_await lease->read_body(64 * 1024, answer, deadline) != http::BodyStatus::end) co_return Heard{};
  heard.unknown = answer.find("IDEMPOTENCY_OUTCOME_UNKNOWN") != std::string::npos;
  lease->release();
  co_return heard;
}

}  // namespace

Task<DriverReport> drive(http::Upstream& target, DriverPlan plan) {
  std::mt19937_64 random(plan.seed);
  std::uniform_real_distribution<> chance(0, 1);
  DriverReport report;
  report.wanted = plan.intents;
  for (std::size_t intent = 0; intent < plan.intents; ++intent) {
    const std::string customer = plan.customer_prefix + std::to_string(intent);
    const std::string body = "{\"customerId\":\"" + customer + "\",\"amount\":19.90}";
    std::string head =
        "POST /api/orders HTTP/1.1\r\nHost: " + std::string(target.authority()) +
        "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    if (plan.send_key) head += "Idempotency-Key: \"" + customer + "-" + std::to_string(plan.seed) + "\"\r\n";
    head += "\r\n";
    bool settled = false;
    for (std::size_t attempt = 0; attempt < attempts_max && !settled; ++attempt) {
      ++report.requests;
      const Heard heard = co_await post_order(target, head, body);
      const bool lost_on_the_way = chance(random) < plan.loss;
      if (heard.status == 0 || (heard.status == 201 && lost_on_the_way)) {
        ++report.unheard;
        continue;
      }
      if (heard.replayed) ++report.replays;
      if (heard.status == 201) ++report.confirmed;
      if (heard.unknown) ++report.held;
      // An unknown outcome is an answer too: trying again blindly is what makes second orders.
      settled = heard.status == 201 || heard.unknown;
    }
    if (!settled) ++report.gave_up;
  }
  co_return report;
}

}  // namespace onceward::cli
