#include "http/upstream_socket.hpp"

#include <array>
#include <charconv>
#include <utility>

#include "http/parser.hpp"

namespace onceward::http {
namespace {

constexpr std::size_t head_room = 4 * 1024;
constexpr std::size_t body_room = 8 * 1024;
constexpr std::size_t fill_room = 1024;

}  // namespace

void UpstreamSocket::begin_lease() {
  head.clear();
  searched = piece_bytes = 0;
  bytes_seen = 0;
  ended = used = false;
}

bool UpstreamSocket::reusable() const {
  const bool is_over = ended && head.keep_alive && in.unread().size() == piece_bytes;
  return (is_over || !used) && !send_failed && !stream.broken();
}

Sent UpstreamSocket::sent(bool whole, std::uint64_t before) {
  if (whole) return Sent::ok;
  send_failed = true;
  return stream.bytes_out() == before ? Sent::nothing_left : Sent::maybe_sent;
}

Task<Sent> UpstreamSocket::send(std::string_view first, std::string_view second, std::string_view third,
                                MonoTime deadline) {
  used = true;
  const std::uint64_t before = stream.bytes_out();
  Task<bool> writing = stream.write_all(std::array{first, second, third}, deadline);
  if (const std::optional<bool> whole = writing.now()) return Task<Sent>::ready(sent(*whole, before));
  return finish_send(std::move(writing), before);
}

Task<Sent> UpstreamSocket::finish_send(Task<bool> writing, std::uint64_t before) {
  co_return sent(co_await writing, before);
}

Task<Sent> UpstreamSocket::send_chunk(std::string_view data, MonoTime deadline) {
  std::array<char, 20> size{};
  char* end = std::to_chars(size.data(), size.data() + 16, data.size(), 16).ptr;
  *end++ = '\r';
  *end++ = '\n';
  co_return co_await send({size.data(), static_cast<std::size_t>(end - size.data())}, data, "\r\n", deadline);
}

Task<HeadStatus> UpstreamSocket::read_head(std::string_view method, MonoTime deadline) {
  // The view may belong to a request that is over before a late answer comes.
  const std::string_view known_method = method == "HEAD" ? "HEAD" : "GET";
  in.unpin();
  while (true) {
    const std::size_t end = find_head_end(in.unread(), searched);
    if (end > header_bytes || (end == 0 && in.unread().size() >= header_bytes)) co_return HeadStatus::bad;
    if (end != 0) co_return take_head(end, known_method);
    searched = in.unread().size();
    co_await stream.breathe();
    const net::IoStatus wait = co_await stream.readable(deadline);
    if (wait == net::IoStatus::timeout) co_return HeadStatus::timeout;
    net::IoResult result{wait, 0};
    if (wait == net::IoStatus::ok) result = stream.try_read(in.room(head_room));
    if (result.status == net::IoStatus::would_block) continue;
    if (result.status != net::IoStatus::ok) co_return bytes_seen == 0 ? HeadStatus::closed : HeadStatus::half;
    in.filled(result.bytes);
    bytes_seen += result.bytes;
  }
}

HeadStatus UpstreamSocket::take_head(std::size_t end, std::string_view method) {
  searched = 0;
  in.room(body_room);  // may move the bytes, so before there are views on them
  const HeadParse parse = parse_whole_response_head(in.unread().substr(0, end), method, head);
  if (parse.status != HeadParse::Status::done) return HeadStatus::bad;
  in.pin(parse.bytes);
  decoder.reset(head.body);
  ended = head.status >= 200 && decoder.ended();
  return HeadStatus::head;
}

// What is here already of the body, or how it ended; nothing: more must come.
std::optional<BodyPiece> UpstreamSocket::next_piece() {
  in.consume(std::exchange(piece_bytes, 0));
  long_piece.drop();
  const BodyDecoder::Step step = decoder.next(in.unread());
  using Status = BodyDecoder::Step::Status;
  switch (step.status) {
    case Status::piece:
      piece_bytes = step.consumed;
      ended = decoder.ended();
      return BodyPiece{BodyStatus::piece, step.data};
    case Status::end:
      in.consume(step.consumed);
      ended = true;
      return BodyPiece{BodyStatus::end, {}};
    case Status::bad:
      return BodyPiece{BodyStatus::bad, {}};
    case Status::need_more:
      in.consume(step.consumed);
      break;
  }
  return std::nullopt;
}

Task<BodyPiece> UpstreamSocket::read_body_some(MonoTime deadline) {
  if (const std::optional<BodyPiece> piece = next_piece()) return Task<BodyPiece>::ready(*piece);
  return wait_for_piece(deadline);
}

Task<BodyPiece> UpstreamSocket::wait_for_piece(MonoTime deadline) {
  while (true) {
    const bool is_long = LongPiece::is_next(in, decoder);
    const net::IoResult result = is_long ? co_await long_piece.read(stream, decoder, deadline)
                                         : co_await stream.read_some(in.room(fill_room), deadline);
    if (result.status == net::IoStatus::timeout) co_return BodyPiece{BodyStatus::timeout, {}};
    // Only an orderly end can end a body that is delimited by the connection; a reset cuts it.
    if (result.status == net::IoStatus::end && decoder.end_of_stream()) {
      ended = true;
      decoder.reset(Body::none());
      co_return BodyPiece{BodyStatus::end, {}};
    }
    if (result.status != net::IoStatus::ok) co_return BodyPiece{BodyStatus::closed, {}};
    bytes_seen += result.bytes;
    if (is_long) {
      ended = decoder.ended();
      co_return BodyPiece{BodyStatus::piece, long_piece.view()};
    }
    in.filled(result.bytes);
    if (const std::optional<BodyPiece> piece = next_piece()) co_return *piece;
  }
}

Task<BodyStatus> UpstreamSocket::read_body(std::size_t limit, std::string& out, MonoTime deadline) {
  if (!body_buffered() || out.size() + decoder.length_left() > limit) return read_more(limit, out, deadline);
  out.append(next_piece()->data);
  return Task<BodyStatus>::ready(BodyStatus::end);
}

Task<BodyStatus> UpstreamSocket::read_more(std::size_t limit, std::string& out, MonoTime deadline) {
  while (out.size() <= limit) {
    const BodyPiece piece = co_await read_body_some(deadline);
    if (piece.status != BodyStatus::piece) co_return piece.status;
    out.append(piece.data);
  }
  co_return BodyStatus::piece;
}

bool UpstreamSocket::body_buffered() const {
  return decoder.length_left() != 0 && in.unread().size() - piece_bytes >= decoder.length_left();
}

}  // namespace onceward::http
