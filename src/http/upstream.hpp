// Upstream: one worker's connections to one upstream URL. It knows nothing of retries: it says exactly
// what became of the bytes, and the caller decides. All calls on the worker's thread. Leases may outlive
// the Upstream (a late answer is still read after a reload), so what they share is reference-counted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/task.hpp"
#include "http/exchange.hpp"
#include "http/head.hpp"
#include "net/tls.hpp"
#include "net/worker.hpp"
#include "onceward/result.hpp"

namespace onceward::http {

struct UpstreamOptions {
  std::string url;  // http://host[:port][/base] or https://…
  Duration connect_timeout = std::chrono::seconds(2);
  Duration timeout = std::chrono::seconds(30);  // for whoever sends: an answer's head, each piece
  std::size_t max_connections = 256;
  net::ClientTls tls;
  std::size_t header_bytes = 64 * 1024;
  Duration idle_timeout = std::chrono::seconds(30);  // an idle connection older than this is not reused
};

enum class Sent : std::uint8_t {
  ok,
  nothing_left,  // provably no byte of this send was handed to the kernel
  maybe_sent,    // failed after a byte may have left
};

enum class HeadStatus : std::uint8_t {
  head,     // one head, 1xx included: after those, read on
  timeout,  // nothing lost; reading may go on
  closed,   // end or reset before any byte of an answer
  half,     // end or reset inside the head
  bad,      // not HTTP, ambiguous framing, too large
};

struct UpstreamPool;
struct UpstreamSocket;

// A connection in use by one request. Goes back to the pool when the answer ended cleanly and may be
// reused; is closed otherwise.
class Lease {
 public:
  Lease();
  Lease(std::shared_ptr<UpstreamPool> pool, std::unique_ptr<UpstreamSocket> socket);
  Lease(Lease&&) noexcept;
  Lease& operator=(Lease&&) noexcept;
  ~Lease();

  explicit operator bool() const { return socket_ != nullptr; }
  bool reused() const;  // had already served a request
  // Not a connection that the upstream has closed while it was idle, or sent something on that nobody asked
  // for.
  bool is_still(MonoTime now) const;

  // One gather write of head and body. Deadlines end the waiting, not the connection.
  Task<Sent> send(std::string_view head, std::string_view body, MonoTime deadline);
  // More of a streamed body, as is; or framed as one chunk; or the last chunk.
  Task<Sent> send_more(std::string_view data, MonoTime deadline);
  Task<Sent> send_chunk(std::string_view data, MonoTime deadline);
  Task<Sent> send_last_chunk(MonoTime deadline);

  // `method` is the request's. The head is valid until the lease ends or the next read_head.
  Task<HeadStatus> read_head(std::string_view method, MonoTime deadline);
  const ResponseHead& head() const;
  // end: the answer is whole. closed: it was cut. timeout: may be called again.
  Task<BodyPiece> read_body_some(MonoTime deadline);
  // Whole body appended to `out` until more than `limit` bytes would be there. end: all of it;
  // piece: the limit was reached and more follows (read on with read_body_some).
  Task<BodyStatus> read_body(std::size_t limit, std::string& out, MonoTime deadline);

  bool body_buffered() const;  // a body of known length is here whole: the next piece is all of it

  std::uint64_t bytes_seen() const;  // of the answer, in this lease
  // Wakes a suspended read or send with an error; later calls fail. Safe while one is waiting.
  void close();
  void release();  // give back or close now

  net::Stream& stream();              // for tunnels, after a 101
  std::string_view buffered() const;  // bytes read past the head

 private:
  std::shared_ptr<UpstreamPool> pool_;
  std::unique_ptr<UpstreamSocket> socket_;
};

class Upstream {
 public:
  static Result<std::unique_ptr<Upstream>> make(net::Worker& worker, const UpstreamOptions& options);
  ~Upstream();  // closes the idle connections; leases live on

  const UpstreamOptions& options() const;
  std::string_view authority() const;  // host[:port] of the URL
  std::string_view base_path() const;  // "" or "/base"

  // An idle connection that shows no sign of being closed, or an empty lease. Never waits.
  Lease checkout_idle();
  // The same for who sends later: whether it is still usable is to be asked then.
  Lease reserve_idle();
  // A new connection; when max_connections are in use it waits its turn (and may then get one given
  // back). Fails after connect_timeout or at the deadline, whichever is first.
  Task<Result<Lease>> connect(MonoTime deadline);
  // checkout_idle, else connect.
  Task<Result<Lease>> checkout(MonoTime deadline);

  std::size_t idle() const;
  std::size_t in_use() const;

 private:
  explicit Upstream(std::shared_ptr<UpstreamPool> pool);
  std::shared_ptr<UpstreamPool> pool_;  // shared with leases, which may outlive us
};

}  // namespace onceward::http
