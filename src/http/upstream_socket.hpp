// UpstreamSocket: one connection to an upstream and the answer that is being read from it. Owned by the
// pool while idle and by a Lease while in use. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/body_decoder.hpp"
#include "http/buffer.hpp"
#include "http/long_piece.hpp"
#include "http/upstream.hpp"
#include "net/stream.hpp"

namespace onceward::http {

struct UpstreamSocket {
  UpstreamSocket(net::Worker& worker, int fd, std::size_t header_bytes_max)
      : stream(worker, fd), header_bytes(header_bytes_max) {}

  Task<Sent> send(std::string_view first, std::string_view second, std::string_view third, MonoTime deadline);
  Task<Sent> send_chunk(std::string_view data, MonoTime deadline);
  Task<HeadStatus> read_head(std::string_view method, MonoTime deadline);
  Task<BodyPiece> read_body_some(MonoTime deadline);
  Task<BodyStatus> read_body(std::size_t limit, std::string& out, MonoTime deadline);
  bool body_buffered() const;

  // The steps of the above that do not wait, and what they call when they must.
  Sent sent(bool whole, std::uint64_t before);
  Task<Sent> finish_send(Task<bool> writing, std::uint64_t before);
  HeadStatus take_head(std::size_t end, std::string_view method);
  std::optional<BodyPiece> next_piece();
  Task<BodyPiece> wait_for_piece(MonoTime deadline);
  Task<BodyStatus> read_more(std::size_t limit, std::string& out, MonoTime deadline);

  void begin_lease();  // forgets the last answer
  bool reusable()
      const;  // nothing was sent, or the answer ended cleanly and the upstream keeps the connection

  net::Stream stream;
  Buffer in;
  LongPiece long_piece;
  ResponseHead head;
  BodyDecoder decoder;
  std::size_t header_bytes;
  std::size_t searched = 0;     // of the head that is arriving
  std::size_t piece_bytes = 0;  // of the input, behind the last piece given out
  std::uint64_t bytes_seen = 0;
  bool reused = false;
  bool used = false;  // by this lease
  bool send_failed = false;
  bool ended = false;  // the final answer is whole
  MonoTime idle_since{};
};

}  // namespace onceward::http
