#include "http/connection.hpp"

#include <utility>

#include "http/chars.hpp"
#include "http/parser.hpp"

namespace onceward::http {
namespace {

constexpr std::size_t head_room = 4 * 1024;        // by which the block grows for a long head
constexpr std::size_t body_room = 4 * 1024;        // kept free behind a head for reading its body
constexpr std::size_t kept_bytes = 4 * 1024;       // of an answer's head, while the connection idles
constexpr std::size_t linger_bytes = 1024 * 1024;  // read and thrown away after a refusal
constexpr Duration linger_time = std::chrono::seconds(2);

}  // namespace

Connection::Connection(ServerShared& server, int fd, PeerInfo peer)
    : server_(server), stream_(server.worker, fd), peer_(std::move(peer)) {}

Task<> Connection::run() {
  if (stream_.tls()) {
    if (!co_await stream_.handshake(in(server_.limits.header_timeout))) co_return;
    describe_peer(*stream_.tls(), peer_);
  }
  for (bool going = true; going;) {
    forget_request();
    co_await stream_.breathe();
    const MonoTime deadline = in(server_.limits.idle_timeout);
    // Waits without a read buffer: that is what keeps an idle connection small.
    while (going && in_.empty()) {
      in_.drop_if_empty();
      if (server_.draining) break;
      idle_ = true;
      const net::IoStatus wait = co_await stream_.readable(deadline);
      idle_ = false;
      going = read_first(wait);
    }
    if (in_.empty() || co_await read_head() == Progress::stop) break;
    begin_request();
    Exchange exchange(*this);
    co_await server_.handler.handle(exchange);
    going = co_await end_request() == Progress::next;
  }
  stream_.shutdown_write();  // tells a TLS client that this is the end and not an attack
}

Task<> Connection::refuse() {
  if (stream_.tls() && !co_await stream_.handshake(in(linger_time))) co_return;
  co_await protocol_error(503, "too many connections");
}

void Connection::forget_request() {
  head_.clear();
  keep_alive_ = true;
  held_ = false;
  if (out_.capacity() > kept_bytes) out_ = {};
}

// False: the connection has ended.
bool Connection::read_first(net::IoStatus wait) {
  if (wait != net::IoStatus::ok) return false;
  const net::IoResult result = stream_.try_read(in_.room(Buffer::block_bytes));
  if (result.status == net::IoStatus::would_block) return true;
  if (result.status != net::IoStatus::ok) return false;
  in_.filled(result.bytes);
  return true;
}

Connection::HeadFound Connection::take_head(HeadSearch& search) {
  using Status = HeadFound::Status;
  // One empty line before a request is what old clients send after a body.
  if (!search.skipped && in_.unread().starts_with("\r\n")) {
    in_.consume(2);
    search.skipped = true;
  }
  // Something that is not HTTP (a TLS greeting, say) will not send a line end: say so now.
  if (!in_.empty() && in_.unread().front() != '\r' && !is_token_char(in_.unread().front()))
    return {Status::refused, 400, "not an HTTP request"};
  const std::size_t end = in_.unread() == "\r" ? 0 : find_head_end(in_.unread(), search.searched);
  if (end > server_.limits.header_bytes || (end == 0 && in_.unread().size() >= server_.limits.header_bytes))
    return {Status::refused, 431, "the request head is too large"};
  search.searched = in_.unread().size();
  if (end == 0) return {};
  in_.room(body_room);  // may move the bytes, so before there are views on them
  const HeadParse parse = parse_whole_request_head(in_.unread().substr(0, end), head_);
  if (parse.status != HeadParse::Status::done) return {Status::refused, parse.answer, parse.detail};
  in_.pin(parse.bytes);
  return {Status::whole, 0, {}};
}

Task<Connection::Progress> Connection::read_head() {
  HeadSearch search;
  const HeadFound found = take_head(search);
  if (found.status == HeadFound::Status::whole) return Task<Progress>::ready(Progress::next);
  if (found.status == HeadFound::Status::refused) return protocol_error(found.answer, found.detail);
  return wait_for_head(search);
}

Task<Connection::Progress> Connection::wait_for_head(HeadSearch search) {
  const MonoTime deadline = in(server_.limits.header_timeout);
  while (true) {
    const bool began = search.searched != 0;
    const net::IoResult result = co_await stream_.read_some(in_.room(head_room), deadline);
    if (result.status == net::IoStatus::timeout && began)
      co_return co_await protocol_error(408, "the request head did not arrive in time");
    if (result.status != net::IoStatus::ok) co_return Progress::stop;
    in_.filled(result.bytes);
    const HeadFound found = take_head(search);
    if (found.status == HeadFound::Status::whole) co_return Progress::next;
    if (found.status == HeadFound::Status::refused)
      co_return co_await protocol_error(found.answer, found.detail);
  }
}

void Connection::begin_request() {
  decoder_.reset(head_.body);
  continue_due_ = head_.expect_continue && in_.empty();
  keep_alive_ = head_.keep_alive;
  answer_ = Answer::none;
  status_ = 0;
  bytes_sent_ = 0;
  piece_bytes_ = 0;
  tunnel_ = body_failed_ = false;
}

Task<Connection::Progress> Connection::end_request() {
  const bool usual = answer_ == Answer::done && keep_alive_ && decoder_.ended() && !tunnel_ &&
                     !stream_.broken() && !server_.draining;
  if (!usual) return end_unusual_request();
  in_.consume(std::exchange(piece_bytes_, 0));
  long_piece_.drop();
  in_.unpin();
  return Task<Progress>::ready(Progress::next);
}

Task<Connection::Progress> Connection::end_unusual_request() {
  if (tunnel_) co_return Progress::stop;
  if (answer_ == Answer::none && !stream_.broken())
    co_await respond(500, "Content-Type: text/plain\r\n", "the request was not answered\n", {});
  if (answer_ == Answer::streaming) abort();
  if (answer_ == Answer::cut || stream_.broken()) co_return Progress::stop;
  in_.consume(std::exchange(piece_bytes_, 0));
  long_piece_.drop();
  // Who drains the server need not wait for the rest of a body that has its answer.
  const bool goes_on = keep_alive_ && (decoder_.ended() || !server_.draining);
  idle_ = true;
  const bool whole = goes_on && co_await drain_body();
  idle_ = false;
  in_.unpin();
  if (!whole) {
    co_await linger();
    co_return Progress::stop;
  }
  co_return server_.draining ? Progress::stop : Progress::next;
}

// What the handler did not read of the body, if it is little: then the connection can be kept.
Task<bool> Connection::drain_body() {
  std::size_t drained = 0;
  while (!decoder_.ended()) {
    if (continue_due_ || body_failed_ || decoder_.length_left() > server_.limits.drain_bytes) co_return false;
    const BodyPiece piece = co_await read_body_some();
    if (piece.status == BodyStatus::end) break;
    drained += piece.data.size();
    if (piece.status != BodyStatus::piece || drained > server_.limits.drain_bytes) co_return false;
  }
  in_.consume(piece_bytes_);
  piece_bytes_ = 0;
  co_return true;
}

// The head cannot be trusted, so nothing after it can: answer, and close.
Task<Connection::Progress> Connection::protocol_error(int status, std::string_view detail) {
  head_.clear();
  keep_alive_ = false;
  answer_ = Answer::none;
  bytes_sent_ = 0;
  held_ = false;
  const PlainAnswer answer = server_.handler.protocol_error(status, detail);
  if (co_await respond(status, answer.lines, answer.body, {})) co_await linger();
  co_return Progress::stop;
}

// Closing with unread bytes makes the kernel send a reset, which can overtake the answer: so the client
// is first told that we have ended, and what it still sends is read for a while.
Task<> Connection::linger() {
  stream_.shutdown_write();
  in_.unpin();
  in_.drop();
  const MonoTime deadline = in(linger_time);
  for (std::size_t total = 0; total < linger_bytes;) {
    const net::IoResult result = co_await stream_.read_some(in_.room(Buffer::block_bytes), deadline);
    if (result.status != net::IoStatus::ok && result.status != net::IoStatus::interrupted) co_return;
    total += result.bytes;
  }
}

}  // namespace onceward::http
