#include "cli/raw_sender.hpp"

#include <future>

#include "base/assert.hpp"

namespace onceward::cli {
namespace {

using client::Attempt;
using client::WireRequest;

constexpr std::size_t body_bytes_max = std::size_t{16} << 20;

MonoTime deadline_of(const http::Upstream& upstream) {
  return net::Worker::now() + upstream.options().timeout;
}

Task<> send_one(http::Upstream& upstream, const WireRequest& request, std::promise<Attempt>& told) {
  http::Lease lease;
  told.set_value(
      co_await client::make_attempt(upstream, request, body_bytes_max, lease, deadline_of(upstream)));
}

Task<> leave_one(http::Upstream& upstream, const WireRequest& request, std::promise<bool>& told) {
  const MonoTime deadline = deadline_of(upstream);
  Result<http::Lease> lease = co_await upstream.connect(deadline);
  bool sent = false;
  if (lease) sent = co_await lease->send(request.head, request.body, deadline) == http::Sent::ok;
  lease = Error{};  // closes it: the answer has not been read
  told.set_value(sent);
}

}  // namespace

Result<std::unique_ptr<RawSender>> RawSender::make(const http::UpstreamOptions& options) {
  std::unique_ptr<RawSender> sender(new RawSender());
  std::promise<Result<Done>> made;
  sender->worker_.call([&] {
    auto upstream = http::Upstream::make(sender->worker_, options);
    if (upstream) sender->upstream_ = std::move(*upstream);
    made.set_value(upstream ? Result<Done>(Done{}) : Result<Done>(upstream.error()));
  });
  if (const Result<Done> done = made.get_future().get(); !done) return done.error();
  return sender;
}

RawSender::~RawSender() {
  worker_.call([this] {
    upstream_.reset();
    worker_.stop();
  });
  thread_.join();
}

std::vector<Attempt> RawSender::send_all(const std::vector<WireRequest>& requests) {
  std::vector<std::promise<Attempt>> told(requests.size());
  worker_.call([&] {
    for (std::size_t i = 0; i < requests.size(); ++i) spawn(send_one(*upstream_, requests[i], told[i]));
  });
  std::vector<Attempt> attempts;
  for (auto& one : told) attempts.push_back(one.get_future().get());
  return attempts;
}

Attempt RawSender::send(const WireRequest& request) { return send_all({request}).front(); }

bool RawSender::send_and_leave(const WireRequest& request) {
  std::promise<bool> told;
  worker_.call([&] { spawn(leave_one(*upstream_, request, told)); });
  return told.get_future().get();
}

WireRequest with_key_lines(WireRequest request, const std::vector<std::string>& lines) {
  constexpr std::string_view name = "\r\nIdempotency-Key: ";
  const std::size_t begin = request.head.find(name);
  ONCEWARD_ASSERT(begin != std::string::npos);
  const std::size_t end = request.head.find("\r\n", begin + 2);
  std::string replaced;
  for (const std::string& line : lines) replaced.append(name).append(line);
  request.head.replace(begin, end - begin, replaced);
  return request;
}

}  // namespace onceward::cli
