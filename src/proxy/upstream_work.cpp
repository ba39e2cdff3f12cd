#include "proxy/upstream_work.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/failpoint.hpp"
#include "net/worker.hpp"

namespace onceward {
namespace {

using http::BodyStatus;
using http::HeadStatus;
using net::Worker;

}  // namespace

UpstreamWork::UpstreamWork(std::shared_ptr<http::Upstream> upstream, std::shared_ptr<const Policy> policy,
                           std::size_t max_response, Request request, OperationMetrics& metrics)
    : upstream_(std::move(upstream)),
      policy_(std::move(policy)),
      max_response_(max_response),
      request_(std::move(request)),
      metrics_(metrics) {}

bool UpstreamWork::ready() {
  if (!lease_) lease_ = upstream_->reserve_idle();
  return static_cast<bool>(lease_);
}

Task<Result<Done>> UpstreamWork::prepare() {
  if (fails_at(Failpoint::connect_before)) co_return Error{Errc::unavailable, "failpoint: not connected"};
  Result<http::Lease> connected =
      co_await upstream_->connect(Worker::now() + upstream_->options().connect_timeout);
  if (!connected) co_return connected.error();
  lease_ = std::move(*connected);
  co_return Done{};
}

Task<Effect> UpstreamWork::execute(Grant grant) {
  ONCEWARD_ASSERT(head != nullptr);
  // By the clock itself: the upstream's time is its own, whatever this round of the loop has spent on others.
  began_ = grant.now == MonoTime{} ? Worker::now() : grant.now;
  if (began_ >= send_before) return send_nothing();
  hold_until_ = grant.hold_until;
  metrics_.in_progress.add();
  head->write(*text_, request_.body.size(), grant);
  const MonoTime deadline = began_ + upstream_->options().timeout;
  if (fails_at(Failpoint::send_before))
    return send_and_receive(grant, Task<Sent>::ready(Sent::nothing_left), deadline);
  if (!lease_.is_still(began_)) return send_on_another(grant, deadline);
  Task<Sent> sending = lease_.send(*text_, request_.body, deadline);
  if (sending.now() != Sent::ok) return send_and_receive(grant, std::move(sending), deadline);
  if (fails_at(Failpoint::send_after))
    return send_and_receive(grant, Task<Sent>::ready(Sent::maybe_sent), deadline);
  return receive(deadline);
}

Task<Effect> UpstreamWork::send_nothing() {
  lease_.release();
  co_return NotSent{"the key is too old"};
}

// The connection turned out to be closed before the kernel was given a byte, or took one.
Task<Effect> UpstreamWork::send_on_another(Grant grant, MonoTime deadline) {
  lease_.close();
  lease_.release();  // its place is the other's
  const Result<Done> connected = co_await prepare();
  if (!connected) co_return over(NotSent{connected.error().message});
  // Connecting may have taken long, and somebody else may think by now that nothing will be sent any more.
  if (Worker::now() >= send_before || !grant.is_held()) {
    lease_.release();
    co_return over(NotSent{"the request's time was over before it could be sent"});
  }
  co_return co_await send_and_receive(grant, lease_.send(*text_, request_.body, deadline), deadline);
}

// What could not be sent at once and whole.
Task<Effect> UpstreamWork::send_and_receive(Grant grant, Task<Sent> sending, MonoTime deadline) {
  Sent sent = co_await sending;
  if (sent == Sent::nothing_left && lease_.reused()) co_return co_await send_on_another(grant, deadline);
  if (sent == Sent::nothing_left) {
    lease_ = {};
    co_return over(NotSent{"the connection to the upstream was closed before anything was sent"});
  }
  if (sent == Sent::ok && fails_at(Failpoint::send_after)) sent = Sent::maybe_sent;
  // The upstream may act on a part of a request, so what left in part may have happened.
  if (sent == Sent::maybe_sent) {
    const bool timed_out = Worker::now() >= deadline;
    co_return over(lost(timed_out ? UnknownCause::timeout : UnknownCause::reset));
  }
  co_return co_await receive(deadline);
}

Task<Effect> UpstreamWork::receive(MonoTime deadline) {
  if (!head_done_) {
    const HeadStatus status = co_await lease_.read_head(request_.method, deadline);
    if (status == HeadStatus::head && lease_.head().status >= 200) {
      take_head(lease_.head());
    } else if (std::optional<Effect> failed = co_await receive_head(status, deadline)) {
      co_return over(std::move(*failed));
    }
  }
  co_return over(received(co_await lease_.read_body(max_response_, body_, deadline)));
}

Effect UpstreamWork::received(BodyStatus status) {
  switch (status) {
    case BodyStatus::end:
      break;
    case BodyStatus::piece:
      has_more_ = true;
      break;
    case BodyStatus::timeout:
      timed_out_ = true;
      return lost(UnknownCause::timeout);
    case BodyStatus::bad:
    case BodyStatus::closed:
      return lost(UnknownCause::half_answer);
  }
  if (fails_at(Failpoint::receive_after)) return lost(UnknownCause::half_answer);
  if (!has_more_) lease_.release();
  std::shared_ptr<const OperationResult> result = result_of(captured_, status_, body_);
  auto response = std::make_shared<Response>();
  response->status = status_;
  response->body_omitted = has_more_;
  response->headers = has_more_ ? location_line(captured_.stored_lines) : std::move(captured_.stored_lines);
  if (!has_more_) response->body = std::move(body_);
  if (captured_.ttl) captured_.ttl = std::max(*captured_.ttl, shortest_ttl);
  return Answer{std::move(response), captured_.outcome, captured_.ttl, std::move(result)};
}

void UpstreamWork::take_head(const http::ResponseHead& answer) {
  captured_ = capture_head(answer, *policy_);
  status_ = static_cast<std::uint16_t>(answer.status);
  reason_ = answer.reason;
  announced_ = answer.body;
  head_done_ = true;
}

Task<std::optional<Effect>> UpstreamWork::receive_head(HeadStatus status, MonoTime deadline) {
  for (;;) {
    switch (status) {
      case HeadStatus::head:
        break;
      case HeadStatus::timeout:
        timed_out_ = true;
        co_return lost(UnknownCause::timeout);
      case HeadStatus::closed:
        co_return lost(UnknownCause::reset);
      case HeadStatus::half:
      case HeadStatus::bad:
        co_return lost(UnknownCause::half_answer);
    }
    const http::ResponseHead& answer = lease_.head();
    if (answer.status >= 200) {
      take_head(answer);
      co_return std::nullopt;
    }
    // We asked for no switch of protocols; whatever follows a 101 is not an answer.
    if (answer.status == 101) co_return lost(UnknownCause::half_answer);
    if (client && answer.status != 100) {
      (void)co_await client->informational(answer.status, capture_head(answer, *policy_).first_lines);
    }
    status = co_await lease_.read_head(request_.method, deadline);
  }
}

// Counted once: a late answer is not another execution.
Effect UpstreamWork::over(Effect effect) {
  if (took_ < std::chrono::nanoseconds::zero()) {
    metrics_.in_progress.subtract();
    took_ = Worker::recently() - began_;
    metrics_.upstream.observe(took_);
  }
  return effect;
}

Task<std::optional<Answer>> UpstreamWork::late() {
  if (!timed_out_) {
    lease_ = {};
    co_return std::nullopt;
  }
  timed_out_ = false;
  Effect effect = co_await receive(hold_until_);
  lease_ = {};
  if (Answer* answer = std::get_if<Answer>(&effect)) co_return std::move(*answer);
  co_return std::nullopt;
}

Task<http::BodyPiece> UpstreamWork::read_more() {
  http::BodyPiece piece = co_await lease_.read_body_some(Worker::now() + upstream_->options().timeout);
  if (piece.status != BodyStatus::piece) {
    has_more_ = false;
    lease_.release();
  }
  co_return piece;
}

Effect UpstreamWork::lost(UnknownCause cause) const {
  return NoAnswer{{cause, status_, lease_ ? lease_.bytes_seen() : 0}};
}

}  // namespace onceward
