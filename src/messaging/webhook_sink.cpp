#include "messaging/webhook_sink.hpp"

#include <algorithm>
#include <future>
#include <thread>

#include "base/assert.hpp"
#include "http/chars.hpp"
#include "http/upstream.hpp"
#include "messaging/webhook_signature.hpp"
#include "net/worker.hpp"

namespace onceward::messaging {
namespace {

constexpr std::size_t parallel_max = 16;
constexpr std::size_t answer_bytes_max = std::size_t{64} << 10;  // read only to use the connection again

struct Target {
  std::string origin;
  std::string path;  // and query
};

Result<Target> split(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == url.npos) return Error{Errc::invalid, "the webhook is not an http or https URL"};
  const std::size_t end = std::min(url.find_first_of("/?#", scheme + 3), url.size());
  Target target{std::string(url.substr(0, end)), std::string(url.substr(end, url.find('#') - end))};
  if (!target.path.starts_with('/')) target.path.insert(0, "/");
  if (!std::ranges::all_of(target.path, [](char c) { return http::is_target_char(c); }))
    return Error{Errc::invalid, "the webhook's URL has characters that must be written as %XX"};
  return target;
}

std::string quoted(std::string_view key) {
  std::string out = "\"";
  for (const char c : key) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::int64_t unix_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

// Whoever wrote it may not have been us: a service's own SQL can.
bool fits_a_header(std::string_view text) { return std::ranges::all_of(text, http::is_value_char); }

SendResult retry(std::string why) { return {SendVerdict::retry, std::move(why)}; }

class WebhookSink final : public EventSink {
 public:
  WebhookSink(const WebhookOptions& options, std::string path) : options_(options), path_(std::move(path)) {}
  ~WebhookSink() override {
    if (!thread_.joinable()) return;
    // One job for both: a loop that is told to stop before it has begun would leave the first behind.
    worker_.call([this] {
      upstream_.reset();
      worker_.stop();
    });
    thread_.join();
  }

  Result<Done> start(const std::string& origin) {
    http::UpstreamOptions upstream;
    upstream.url = origin;
    upstream.timeout = options_.timeout;
    upstream.max_connections = parallel_max;
    upstream.tls = options_.tls;
    Result<std::unique_ptr<http::Upstream>> made = http::Upstream::make(worker_, upstream);
    if (!made) return Error{Errc::invalid, made.error().message};
    upstream_ = std::move(*made);
    thread_ = std::thread([this] { worker_.run(); });
    return Done{};
  }

  std::vector<SendResult> send(std::span<const PendingEvent> batch, MonoTime deadline) override {
    Round round{batch, deadline, std::vector<SendResult>(batch.size()), 0, 0, {}};
    std::future<void> ended = round.ended.get_future();
    worker_.call([this, &round] {
      round.lanes = std::min(parallel_max, round.batch.size());
      for (std::size_t lane = round.lanes; lane > 0; --lane) spawn(work_through(round));
    });
    ended.wait();
    return std::move(round.results);
  }

 private:
  // One call of send(), worked through by several lanes.
  struct Round {
    std::span<const PendingEvent> batch;
    MonoTime deadline;
    std::vector<SendResult> results;
    std::size_t next;
    std::size_t lanes;
    std::promise<void> ended;
  };

  Task<> work_through(Round& round) {
    while (round.next < round.batch.size() && net::Worker::now() < round.deadline) {
      const std::size_t index = round.next++;
      round.results[index] = co_await post(round.batch[index].event, round.deadline);
    }
    if (--round.lanes == 0) round.ended.set_value();
  }

  std::string head_of(const Event& event) const {
    std::string head = "POST " + path_ + " HTTP/1.1\r\nHost: " + std::string(upstream_->authority()) + "\r\n";
    head += "Content-Type: " + event.content_type + "\r\n";
    head += "Content-Length: " + std::to_string(event.payload.size()) + "\r\n";
    head += "Idempotency-Key: " + quoted(event.id) + "\r\n";
    const std::int64_t now = unix_seconds();
    head += "webhook-id: " + event.id + "\r\nwebhook-timestamp: " + std::to_string(now) + "\r\n";
    if (!options_.secret.empty())
      head +=
          "webhook-signature: " + webhook_signature(options_.secret, event.id, now, event.payload) + "\r\n";
    return head + "\r\n";
  }

  Task<SendResult> post(const Event& event, MonoTime deadline) {
    if (!fits_a_header(event.id) || !fits_a_header(event.content_type))
      co_return SendResult{SendVerdict::poison, "its id or content type cannot travel in a header"};
    const std::string head = head_of(event);
    http::Lease lease = upstream_->checkout_idle();
    http::Sent sent = http::Sent::nothing_left;
    if (lease) sent = co_await lease.send(head, event.payload, deadline);
    if (sent == http::Sent::nothing_left) {  // an idle connection that the receiver had closed
      Result<http::Lease> connected = co_await upstream_->connect(deadline);
      if (!connected) co_return retry(connected.error().message);
      lease = std::move(*connected);
      sent = co_await lease.send(head, event.payload, deadline);
    }
    if (sent != http::Sent::ok) co_return retry("the connection broke while the event was being sent");
    co_return co_await read_answer(lease, deadline);
  }

  static Task<SendResult> read_answer(http::Lease& lease, MonoTime deadline) {
    do {
      const http::HeadStatus status = co_await lease.read_head("POST", deadline);
      if (status == http::HeadStatus::timeout) co_return retry("no answer in time");
      if (status != http::HeadStatus::head) co_return retry("the connection ended without a whole answer");
      if (lease.head().status == 101) co_return retry("the receiver switched protocols unasked");
    } while (lease.head().status < 200);
    const int status = lease.head().status;
    std::string body;
    (void)co_await lease.read_body(answer_bytes_max, body, deadline);  // the status alone counts
    const SendVerdict verdict = webhook_verdict(status);
    co_return SendResult{
        verdict, verdict == SendVerdict::delivered ? "" : "the receiver answered " + std::to_string(status)};
  }

  const WebhookOptions options_;
  const std::string path_;
  net::Worker worker_;
  std::unique_ptr<http::Upstream> upstream_;
  std::thread thread_;
};

}  // namespace

SendVerdict webhook_verdict(int status) {
  if (status >= 200 && status < 300) return SendVerdict::delivered;
  const bool may_pass = status == 408 || status == 425 || status == 429;
  return status >= 400 && status < 500 && !may_pass ? SendVerdict::poison : SendVerdict::retry;
}

Result<std::unique_ptr<EventSink>> make_webhook_sink(const WebhookOptions& options) {
  Result<Target> target = split(options.url);
  if (!target) return target.error();
  auto sink = std::make_unique<WebhookSink>(options, std::move(target->path));
  if (const Result<Done> started = sink->start(target->origin); !started) return started.error();
  return std::unique_ptr<EventSink>(std::move(sink));
}

}  // namespace onceward::messaging
