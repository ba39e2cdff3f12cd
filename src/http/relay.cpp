#include "http/relay.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "base/assert.hpp"
#include "http/chars.hpp"
#include "http/request_writer.hpp"
#include "http/response_writer.hpp"
#include "http/scratch.hpp"
#include "http/tunnel.hpp"
#include "net/wait_list.hpp"

namespace onceward::http {
namespace {

bool is_safe(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "TRACE";
}

// Upgrades to HTTP/2 are not passed on: what is sent in that tunnel would reach the upstream unguarded.
bool wants_upgrade(const RequestHead& request) {
  const auto protocol = request.headers.find("Upgrade");
  if (!protocol || request.minor == 0 || !request.body.empty()) return false;
  const auto begins = [&](std::string_view text) {
    return same_name(protocol->substr(0, text.size()), text);
  };
  if (begins("h2") || begins("http") || begins("tls") || protocol->find(',') != protocol->npos) return false;
  return has_token(request.headers, "Connection", "upgrade");
}

int client_fault(BodyStatus status) { return status == BodyStatus::timeout ? 408 : 400; }

// One relayed request. Lives in the frame of relay(); the upload may run beside it, and is always joined.
// What mostly need not wait (a small body that is here whole) is a plain function, see task.hpp.
class Relay {
 public:
  Relay(Exchange& exchange, Upstream& upstream, const RelayOptions& options)
      : exchange_(exchange),
        upstream_(upstream),
        options_(options),
        upgrade_(wants_upgrade(exchange.request())),
        upload_over_(exchange.executor()) {}

  void write_head();
  // The connection that the request is sent on; may be given another one to send it on again.
  Lease& lease() { return lease_; }
  // By the clock itself: the upstream's time is its own, whatever this round of the loop has spent on others.
  MonoTime soon() const { return net::Worker::now() + upstream_.options().timeout; }
  Task<Sent> send_request(MonoTime deadline);
  // Whether that was the last word of the upstream: no interim answer, and no timeout that may be too early.
  bool is_final(HeadStatus status) const;
  Task<HeadStatus> read_on(HeadStatus status);
  Task<RelayResult> pass_on(HeadStatus status);
  Task<RelayResult> fail(int status, RelayOutcome outcome);

 private:
  Task<Sent> send_and_upload();
  Task<> upload();
  Task<bool> upload_pieces();
  Task<> end_upload();
  void write_answer_lines();
  Task<RelayResult> respond_whole(Task<bool> responding, int status);
  Task<RelayResult> pass_on_unusual(HeadStatus status);
  Task<RelayResult> stream_answer();
  Task<RelayOutcome> forward_body();
  Task<RelayResult> run_tunnel();
  Task<RelayResult> no_answer(HeadStatus status);
  Body answer_body() const;

  Exchange& exchange_;
  Upstream& upstream_;
  const RelayOptions& options_;
  bool upgrade_;
  Lease lease_;
  Scratch head_;
  Scratch lines_;
  bool uploading_ = false;
  bool upload_broken_ = false;                // stopped before the body's end
  bool stopping_ = false;                     // the client is not to blame for what its body lacks
  BodyStatus client_body_ = BodyStatus::end;  // other than end: the client did not send its body properly
  MonoTime upload_ended_{};
  net::WaitList upload_over_;
};

void Relay::write_head() {
  ForwardOptions forward;
  forward.peer_address = exchange_.peer().address;
  forward.tls = exchange_.peer().tls;
  forward.protected_names = options_.protected_names;
  forward.drop = options_.drop_request;
  forward.extra_lines = options_.extra_request_lines;
  forward.base_path = upstream_.base_path();
  forward.fallback_host = upstream_.authority();
  forward.upgrade = upgrade_;
  write_request_head(*head_, exchange_.request(), exchange_.request().body, forward);
}

Task<Sent> Relay::send_request(MonoTime deadline) {
  if (exchange_.request().body.empty()) return lease_.send(*head_, {}, deadline);
  if (!exchange_.body_buffered()) return send_and_upload();
  const std::optional<BodyPiece> whole = exchange_.read_body_some().now();
  ONCEWARD_ASSERT(whole.has_value());
  return lease_.send(*head_, whole->data, deadline);
}

Task<Sent> Relay::send_and_upload() {
  // What is here of it goes out with the head.
  const bool has_begun = exchange_.request().body.kind == Body::Kind::length && !exchange_.buffered().empty();
  const std::string_view begun =
      has_begun ? exchange_.read_body_some().now().value().data : std::string_view{};
  const Sent sent = co_await lease_.send(*head_, begun, soon());
  if (sent != Sent::ok) co_return sent;
  // Before the upload begins, because from then on the client's side is written by the answer only.
  if (exchange_.request().expect_continue) co_await exchange_.informational(100, {});
  uploading_ = true;
  spawn(upload());
  co_return Sent::ok;
}

Task<bool> Relay::upload_pieces() {
  const bool chunked = exchange_.request().body.kind == Body::Kind::chunked;
  while (true) {
    const BodyPiece piece = co_await exchange_.read_body_some();
    if (piece.status == BodyStatus::end)
      co_return !chunked || co_await lease_.send_last_chunk(soon()) == Sent::ok;
    if (piece.status != BodyStatus::piece) {
      if (!stopping_) client_body_ = piece.status;
      lease_.close();  // the upstream must not take the half for the whole
      co_return false;
    }
    const Sent sent = chunked ? co_await lease_.send_chunk(piece.data, soon())
                              : co_await lease_.send_more(piece.data, soon());
    if (sent != Sent::ok) co_return false;
  }
}

Task<> Relay::upload() {
  upload_broken_ = !co_await upload_pieces();
  uploading_ = false;
  upload_ended_ = net::Worker::now();
  upload_over_.wake_all();
}

Task<> Relay::end_upload() {
  if (uploading_) {
    // The answer is final although the body is not: nobody will read the rest.
    stopping_ = true;
    exchange_.stop_reading();
    lease_.close();
    co_await upload_over_.wait(MonoTime::max());
    exchange_.read_on();  // the answer may have said that the connection is kept
  }
  if (upload_broken_) lease_.close();
}

bool Relay::is_final(HeadStatus status) const {
  return status == HeadStatus::head ? lease_.head().status >= 200 : status != HeadStatus::timeout;
}

Task<HeadStatus> Relay::read_on(HeadStatus status) {
  while (!is_final(status)) {
    if (status == HeadStatus::timeout) {
      // The upstream's time begins when it has the whole request; the upload has its own limits.
      const bool too_early = uploading_ || net::Worker::now() < upload_ended_ + upstream_.options().timeout;
      if (!too_early) co_return status;
    } else if (lease_.head().status == 101) {
      co_return upgrade_ ? status : HeadStatus::bad;
    } else if (lease_.head().status != 100) {  // ours has been sent when it was due
      lines_->clear();
      append_response_lines(*lines_, lease_.head());
      co_await exchange_.informational(lease_.head().status, *lines_);
    }
    status = co_await lease_.read_head(exchange_.request().method, soon());
  }
  co_return status;
}

Body Relay::answer_body() const {
  const ResponseHead& head = lease_.head();
  if (head.body.kind == Body::Kind::until_close) return Body::chunked();
  if (exchange_.request().method != "HEAD") return head.body;
  // The length that a GET would have had is news, although no body follows.
  std::uint64_t bytes = 0;
  const auto length = head.headers.find("Content-Length");
  if (!length) return Body::none();
  std::from_chars(length->data(), length->data() + length->size(), bytes);
  return Body::length(bytes);
}

Task<RelayOutcome> Relay::forward_body() {
  while (true) {
    const BodyPiece piece = co_await lease_.read_body_some(soon());
    switch (piece.status) {
      case BodyStatus::piece:
        if (!co_await exchange_.write(piece.data)) co_return RelayOutcome::client_gone;
        break;
      case BodyStatus::end:
        co_return co_await exchange_.finish() ? RelayOutcome::done : RelayOutcome::client_gone;
      case BodyStatus::timeout:
        exchange_.abort();
        co_return RelayOutcome::upstream_timeout;
      case BodyStatus::bad:
      case BodyStatus::closed:
        exchange_.abort();
        co_return RelayOutcome::upstream_broken;
    }
  }
}

void Relay::write_answer_lines() {
  lines_->clear();
  append_response_lines(*lines_, lease_.head(), options_.drop_response);
  lines_->append(options_.extra_response_lines);
}

Task<RelayResult> Relay::pass_on(HeadStatus status) {
  const bool is_answer = status == HeadStatus::head && lease_.head().status >= 200;
  if (!is_answer || uploading_ || upload_broken_ || !lease_.body_buffered()) return pass_on_unusual(status);
  write_answer_lines();
  const ResponseHead& head = lease_.head();
  // It is here already: nothing is waited for.
  const std::optional<BodyPiece> whole = lease_.read_body_some(MonoTime{}).now();
  ONCEWARD_ASSERT(whole.has_value());
  Task<bool> responding = exchange_.respond(head.status, *lines_, whole->data, head.reason);
  if (responding.now() == true) return Task<RelayResult>::ready({head.status, RelayOutcome::done});
  return respond_whole(std::move(responding), head.status);
}

Task<RelayResult> Relay::respond_whole(Task<bool> responding, int status) {
  co_return RelayResult{status, co_await responding ? RelayOutcome::done : RelayOutcome::client_gone};
}

Task<RelayResult> Relay::pass_on_unusual(HeadStatus status) {
  RelayResult result;
  if (status == HeadStatus::head && lease_.head().status == 101) {
    result = co_await run_tunnel();
  } else if (status == HeadStatus::head) {
    result = co_await stream_answer();
    co_await end_upload();
  } else {
    co_await end_upload();
    result = co_await no_answer(status);
  }
  co_return result;
}

Task<RelayResult> Relay::stream_answer() {
  const ResponseHead& head = lease_.head();
  const int status = head.status;
  write_answer_lines();
  // With some of the body already here, head and body can share a packet.
  const bool hold = !head.body.empty() && !lease_.buffered().empty();
  if (!co_await exchange_.start(status, *lines_, answer_body(), head.reason, hold))
    co_return RelayResult{status, RelayOutcome::client_gone};
  const RelayOutcome outcome = co_await forward_body();
  co_return RelayResult{status, outcome};
}

Task<RelayResult> Relay::run_tunnel() {
  lines_->clear();
  append_response_lines(*lines_, lease_.head(), options_.drop_response);
  for (const HeaderView& field : lease_.head().headers)
    if (same_name(field.name, "Upgrade")) append_line(*lines_, field.name, field.value);
  if (!co_await exchange_.start(101, *lines_, Body::none(), lease_.head().reason))
    co_return RelayResult{101, RelayOutcome::client_gone};
  TunnelEnd client{exchange_.take_stream(), exchange_.buffered()};
  TunnelEnd upstream{lease_.stream(), lease_.buffered()};
  co_await tunnel(client, upstream, options_.tunnel_idle);
  co_return RelayResult{101, RelayOutcome::upgraded};
}

Task<RelayResult> Relay::fail(int status, RelayOutcome outcome) {
  const PlainAnswer answer = (*options_.error_answer)(status, outcome);
  const bool told = co_await exchange_.respond(status, answer.lines, answer.body);
  co_return RelayResult{told ? status : 0, outcome};
}

Task<RelayResult> Relay::no_answer(HeadStatus status) {
  if (client_body_ != BodyStatus::end)
    co_return co_await fail(client_fault(client_body_), RelayOutcome::client_gone);
  if (status == HeadStatus::timeout) co_return co_await fail(504, RelayOutcome::upstream_timeout);
  co_return co_await fail(502, RelayOutcome::upstream_broken);
}

}  // namespace

Task<RelayResult> relay(Exchange& exchange, Upstream& upstream, const RelayOptions& options) {
  Relay relay(exchange, upstream, options);
  relay.write_head();
  const bool may_repeat = is_safe(exchange.request().method) && exchange.request().body.empty();
  relay.lease() = upstream.checkout_idle();
  HeadStatus status = HeadStatus::closed;
  for (bool repeat = true; repeat;) {
    if (!relay.lease()) {
      auto fresh = co_await upstream.connect(relay.soon());
      if (!fresh) co_return co_await relay.fail(502, RelayOutcome::upstream_unreachable);
      relay.lease() = std::move(*fresh);
    }
    // A send that failed may still have an answer (a refusal before the body was read).
    const MonoTime deadline = relay.soon();
    Task<Sent> sending = relay.send_request(deadline);
    const bool at_once = sending.now().has_value();
    if (!at_once) co_await std::move(sending);
    status = co_await relay.lease().read_head(exchange.request().method, at_once ? deadline : relay.soon());
    if (!relay.is_final(status)) status = co_await relay.read_on(status);
    repeat = status == HeadStatus::closed && relay.lease().reused() && may_repeat;
    if (repeat) relay.lease().release();
  }
  co_return co_await relay.pass_on(status);
}

}  // namespace onceward::http
