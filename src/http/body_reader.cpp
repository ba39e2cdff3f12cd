// Reading a request's body: the Connection's side of Exchange::read_body.
#include <algorithm>

#include "http/connection.hpp"

namespace onceward::http {
namespace {

constexpr std::string_view continue_answer = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::size_t fill_room = 1024;  // always there: an incomplete line is shorter than the rest
constexpr std::uint64_t slowest_bytes_per_s = 1024;    // of a body that is read whole, on average
constexpr std::size_t reserve_bytes_max = 256 * 1024;  // trusted before the bytes are there

BodyStatus to_body_status(net::IoStatus status) {
  return status == net::IoStatus::timeout ? BodyStatus::timeout : BodyStatus::closed;
}

ReadBody to_read_body(BodyStatus status) {
  switch (status) {
    case BodyStatus::piece:
    case BodyStatus::end:
      return ReadBody::ok;
    case BodyStatus::bad:
      return ReadBody::bad;
    case BodyStatus::closed:
      return ReadBody::closed;
    case BodyStatus::timeout:
      return ReadBody::timeout;
  }
  return ReadBody::bad;
}

}  // namespace

Task<BodyStatus> Connection::send_continue() {
  continue_due_ = false;
  co_return co_await send(continue_answer) ? BodyStatus::piece : BodyStatus::closed;
}

// More input behind what is unread, or a long piece instead. `piece` means that there is some.
Task<BodyStatus> Connection::fill(MonoTime deadline) {
  if (continue_due_ && co_await send_continue() != BodyStatus::piece) co_return BodyStatus::closed;
  const bool is_long = LongPiece::is_next(in_, decoder_);
  const net::IoResult result = is_long ? co_await long_piece_.read(stream_, decoder_, deadline)
                                       : co_await stream_.read_some(in_.room(fill_room), deadline);
  if (result.status != net::IoStatus::ok) co_return to_body_status(result.status);
  if (!is_long) in_.filled(result.bytes);
  co_return BodyStatus::piece;
}

// What is here already of the body, or how it ended; nothing: more must come.
std::optional<BodyPiece> Connection::next_piece() {
  in_.consume(std::exchange(piece_bytes_, 0));
  long_piece_.drop();
  const BodyDecoder::Step step = decoder_.next(in_.unread());
  using Status = BodyDecoder::Step::Status;
  switch (step.status) {
    case Status::piece:
      piece_bytes_ = step.consumed;
      return BodyPiece{BodyStatus::piece, step.data};
    case Status::end:
      in_.consume(step.consumed);
      return BodyPiece{BodyStatus::end, {}};
    case Status::bad:
      return BodyPiece{fail_body(BodyStatus::bad), {}};
    case Status::need_more:
      in_.consume(step.consumed);
      break;
  }
  return std::nullopt;
}

Task<BodyPiece> Connection::read_body_some() {
  if (const std::optional<BodyPiece> piece = next_piece()) return Task<BodyPiece>::ready(*piece);
  return wait_for_piece();
}

Task<BodyPiece> Connection::wait_for_piece() {
  const MonoTime deadline = in(server_.limits.body_timeout);
  while (true) {
    const BodyStatus filled = co_await fill(deadline);
    if (filled != BodyStatus::piece) co_return BodyPiece{reading_stopped_ ? filled : fail_body(filled), {}};
    if (!long_piece_.view().empty()) co_return BodyPiece{BodyStatus::piece, long_piece_.view()};
    if (const std::optional<BodyPiece> piece = next_piece()) co_return *piece;
  }
}

void Connection::stop_reading() {
  reading_stopped_ = true;
  stream_.interrupt_read();
}

void Connection::read_on() {
  reading_stopped_ = false;
  stream_.allow_read();
}

bool Connection::body_buffered() const {
  return head_.body.kind == Body::Kind::length && decoder_.length_left() == head_.body.bytes &&
         in_.unread().size() >= head_.body.bytes;
}

// A client that trickles its body must not hold memory for ever.
bool Connection::too_slow(MonoTime since, std::size_t bytes) const {
  const auto allowed = server_.limits.body_timeout + std::chrono::seconds(bytes / slowest_bytes_per_s);
  return net::Worker::now() - since > allowed;
}

Task<ReadBody> Connection::read_body(std::size_t limit, std::string& out) {
  out.clear();
  if (decoder_.length_left() > limit) return Task<ReadBody>::ready(ReadBody::too_large);
  if (!body_buffered()) return read_more(limit, out);
  out.assign(next_piece()->data);
  return Task<ReadBody>::ready(ReadBody::ok);
}

Task<ReadBody> Connection::read_more(std::size_t limit, std::string& out) {
  const MonoTime since = net::Worker::now();
  while (true) {
    if (decoder_.length_left() > in_.unread().size() - piece_bytes_)
      co_return co_await read_length_body(out, since);
    const BodyPiece piece = co_await read_body_some();
    if (piece.status != BodyStatus::piece) co_return to_read_body(piece.status);
    if (out.size() + piece.data.size() > limit) co_return ReadBody::too_large;
    out.append(piece.data);
    if (too_slow(since, out.size())) co_return fail_body(ReadBody::timeout);
  }
}

// Most of the body is still to come: it is read straight to where it belongs.
Task<ReadBody> Connection::read_length_body(std::string& out, MonoTime since) {
  in_.consume(std::exchange(piece_bytes_, 0));
  out.append(in_.unread());
  decoder_.skip(in_.unread().size());
  in_.consume(in_.unread().size());
  if (continue_due_ && co_await send_continue() != BodyStatus::piece) co_return ReadBody::closed;
  std::size_t have = out.size();
  while (!decoder_.ended()) {
    const std::size_t want = std::min<std::uint64_t>(decoder_.length_left(), reserve_bytes_max);
    out.resize(have + want);
    const net::IoResult result =
        co_await stream_.read_some(std::span(out).subspan(have), in(server_.limits.body_timeout));
    if (result.status != net::IoStatus::ok) co_return fail_body(to_read_body(to_body_status(result.status)));
    have += result.bytes;
    if (too_slow(since, have)) co_return fail_body(ReadBody::timeout);
    decoder_.skip(result.bytes);
  }
  out.resize(have);
  co_return ReadBody::ok;
}

}  // namespace onceward::http
