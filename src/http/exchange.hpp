// Exchange: one request on one connection, and its answer, as a Handler sees them. Made by the server;
// lives as long as Handler::handle runs, on the worker's thread. Writes never throw: false means the
// client is gone, and everything after it is a no-op.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/task.hpp"
#include "http/head.hpp"
#include "http/peer.hpp"
#include "onceward/executor.hpp"

namespace onceward::net {
class Stream;
}

namespace onceward::http {

enum class BodyStatus : std::uint8_t {
  piece,
  end,
  bad,     // broken chunk framing
  closed,  // the other side ended before the body did
  timeout,
};

struct BodyPiece {
  BodyStatus status = BodyStatus::end;
  std::string_view data;  // of a piece; valid until the next read
};

enum class ReadBody : std::uint8_t { ok, too_large, bad, closed, timeout };

class Connection;

class Exchange {
 public:
  explicit Exchange(Connection& connection) : connection_(connection) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const RequestHead& request() const;  // valid until handle() returns
  const PeerInfo& peer() const;
  Executor& executor();

  // The first read sends "100 Continue" when the client waits for it. Reading may go on while an answer is
  // written, but then informational(100) must have been sent before.
  Task<BodyPiece> read_body_some();
  // The whole body into `out`; stops at once when it is, or says it is, larger than `limit`.
  Task<ReadBody> read_body(std::size_t limit, std::string& out);

  bool body_buffered() const;  // a body of known length has arrived whole: reading it will not wait
  // A read that waits, or the next one, ends as `closed`. What is left of the body can be read after
  // read_on().
  void stop_reading();
  void read_on();

  // A whole answer in one write. `lines` are "Name: value\r\n" lines without framing headers; Date (when
  // absent), Content-Length and Connection are added; HEAD, 204 and 304 get no body.
  Task<bool> respond(int status, std::string_view lines, std::string_view body, std::string_view reason = {});

  // A streamed answer. chunked becomes until-close for HTTP/1.0. Each write is sent at once.
  // `hold` keeps the head back until the first write (or finish), which then carries it.
  Task<bool> start(int status, std::string_view lines, Body body, std::string_view reason = {},
                   bool hold = false);
  Task<bool> write(std::string_view data);
  Task<bool> finish();  // false also when fewer bytes were written than announced: the connection is cut
  void abort();         // cuts the connection, so that the client sees that the answer is not whole

  Task<bool> informational(int status, std::string_view lines);  // 1xx; nothing for HTTP/1.0

  bool answered() const;             // the final answer's head has been written
  int status() const;                // of the final answer; 0 before
  bool client_gone() const;          // as far as a read or write has shown, or the socket shows right now
  std::uint64_t bytes_sent() const;  // of the answer, with its head

  // For tunnels: the raw stream after the head, and the bytes already read past it. The connection
  // closes when handle() returns.
  net::Stream& take_stream();
  std::string_view buffered() const;

 private:
  Connection& connection_;
};

}  // namespace onceward::http
