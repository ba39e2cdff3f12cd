#include "client/attempt.hpp"

#include "net/worker.hpp"

namespace onceward::client {
namespace {

using http::BodyStatus;
using http::HeadStatus;
using http::Sent;

Attempt not_sent(std::string reason) { return {Attempt::Kind::not_sent, {}, std::move(reason)}; }
Attempt lost(std::string reason) { return {Attempt::Kind::lost, {}, std::move(reason)}; }

// An idle connection may have been closed by the server just now; if the kernel took nothing, a new one is
// used.
Task<Attempt> send(http::Upstream& upstream, const WireRequest& request, http::Lease& lease,
                   MonoTime deadline, const bool* stopped) {
  lease = upstream.checkout_idle();
  Sent sent = Sent::nothing_left;
  if (lease) sent = co_await lease.send(request.head, request.body, deadline);
  if (sent == Sent::nothing_left) {
    Result<http::Lease> connected = co_await upstream.connect(deadline);
    if (!connected) co_return not_sent(connected.error().message);
    lease = std::move(*connected);
    if (stopped && *stopped) co_return not_sent("stopped before anything was sent");
    sent = co_await lease.send(request.head, request.body, deadline);
  }
  if (sent == Sent::nothing_left) co_return not_sent("the connection was closed before anything was sent");
  if (sent == Sent::maybe_sent) co_return lost("the connection broke while the request was being sent");
  co_return Attempt{Attempt::Kind::answered, {}, {}};
}

Answer take_head(const http::ResponseHead& head) {
  Answer answer{.status = head.status};
  for (const http::HeaderView& header : head.headers) answer.headers.emplace_back(header.name, header.value);
  return answer;
}

Task<Attempt> receive(const WireRequest& request, std::size_t body_bytes_max, http::Lease& lease,
                      MonoTime deadline) {
  do {
    switch (co_await lease.read_head(request.method, deadline)) {
      case HeadStatus::head:
        break;
      case HeadStatus::timeout:
        co_return lost("no answer in time");
      case HeadStatus::closed:
        co_return lost("the connection ended without an answer");
      case HeadStatus::half:
      case HeadStatus::bad:
        co_return lost("the answer was not whole");
    }
    if (lease.head().status == 101) co_return lost("the server switched protocols unasked");
  } while (lease.head().status < 200);
  Attempt attempt{Attempt::Kind::answered, take_head(lease.head()), {}};
  switch (co_await lease.read_body(body_bytes_max, attempt.answer.body, deadline)) {
    case BodyStatus::end:
      break;
    case BodyStatus::piece:
      attempt.answer.body.resize(body_bytes_max);
      attempt.answer.body_cut = true;
      break;
    case BodyStatus::timeout:
      co_return lost("the answer's body did not come in time");
    case BodyStatus::bad:
    case BodyStatus::closed:
      co_return lost("the answer was not whole");
  }
  co_return attempt;
}

}  // namespace

Task<Attempt> make_attempt(http::Upstream& upstream, const WireRequest& request, std::size_t body_bytes_max,
                           http::Lease& lease, MonoTime deadline, const bool* stopped) {
  Attempt attempt = co_await send(upstream, request, lease, deadline, stopped);
  if (attempt.kind == Attempt::Kind::answered)
    attempt = co_await receive(request, body_bytes_max, lease, deadline);
  lease = {};
  co_return attempt;
}

}  // namespace onceward::client
