#include "http/relay.hpp"

#include <algorithm>
#include <charconv>
#include <string>

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
class Relay {
 public:
  Relay(Exchange& exchange, Upstream& upstream, const RelayOptions& options)
      : exchange_(exchange),
        upstream_(upstream),
        options_(options),
        upgrade_(wants_upgrade(exchange.request())),
        upload_over_(exchange.executor()) {}

  Task<RelayResult> run();

 private:
  MonoTime soon() const { return net::Worker::now() + upstream_.options().timeout; }
  void write_head();
  Task<Sent> send_request();
  Task<> upload();
  Task<bool> upload_pieces();
  Task<> end_upload();
  Task<HeadStatus> read_final_head();
  Task<RelayResult> forward_answer();
  Task<RelayOutcome> forward_body();
  Task<RelayResult> run_tunnel();
  Task<RelayResult> no_answer(HeadStatus status);
  Task<RelayResult> fail(int status, RelayOutcome outcome);
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

Task<Sent> Relay::send_request() {
  const Body body = exchange_.request().body;
  if (body.empty()) co_return co_await lease_.send(*head_, {}, soon());
  if (exchange_.body_buffered()) {
    const BodyPiece piece = co_await exchange_.read_body_some();
    co_return co_await lease_.send(*head_, piece.data, soon());
  }
  const Sent sent = co_await lease_.send(*head_, {}, soon());
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
  }
  if (upload_broken_) lease_.close();
}

Task<HeadStatus> Relay::read_final_head() {
  while (true) {
    const HeadStatus status = co_await lease_.read_head(exchange_.request().method, soon());
    if (status == HeadStatus::timeout) {
      // The upstream's time begins when it has the whole request; the upload has its own limits.
      if (uploading_ || net::Worker::now() < upload_ended_ + upstream_.options().timeout) continue;
      co_return status;
    }
    if (status != HeadStatus::head || lease_.head().status >= 200) co_return status;
    if (lease_.head().status == 101) co_return upgrade_ ? status : HeadStatus::bad;
    if (lease_.head().status == 100) continue;  // ours has been sent when it was due
    lines_->clear();
    append_response_lines(*lines_, lease_.head());
    co_await exchange_.informational(lease_.head().status, *lines_);
  }
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

Task<RelayResult> Relay::forward_answer() {
  const ResponseHead& head = lease_.head();
  const int status = head.status;
  lines_->clear();
  append_response_lines(*lines_, head, options_.drop_response);
  lines_->append(options_.extra_response_lines);
  if (lease_.body_buffered()) {
    const BodyPiece piece = co_await lease_.read_body_some(soon());
    const bool told = co_await exchange_.respond(status, *lines_, piece.data, head.reason);
    co_return RelayResult{status, told ? RelayOutcome::done : RelayOutcome::client_gone};
  }
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

Task<RelayResult> Relay::run() {
  write_head();
  const bool may_repeat = is_safe(exchange_.request().method) && exchange_.request().body.empty();
  lease_ = upstream_.checkout_idle();
  HeadStatus status = HeadStatus::closed;
  for (bool repeat = true; repeat;) {
    if (!lease_) {
      auto fresh = co_await upstream_.connect(soon());
      if (!fresh) co_return co_await fail(502, RelayOutcome::upstream_unreachable);
      lease_ = std::move(*fresh);
    }
    // A send that failed may still have an answer (a refusal before the body was read).
    co_await send_request();
    status = co_await read_final_head();
    repeat = status == HeadStatus::closed && lease_.reused() && may_repeat;
    if (repeat) lease_.release();
  }
  RelayResult result;
  if (status == HeadStatus::head && lease_.head().status == 101) {
    result = co_await run_tunnel();
  } else if (status == HeadStatus::head) {
    result = co_await forward_answer();
    co_await end_upload();
  } else {
    co_await end_upload();
    result = co_await no_answer(status);
  }
  co_return result;
}

}  // namespace

Task<RelayResult> relay(Exchange& exchange, Upstream& upstream, const RelayOptions& options) {
  Relay relay(exchange, upstream, options);
  co_return co_await relay.run();
}

}  // namespace onceward::http
