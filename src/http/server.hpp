// Server: accepts connections on one worker and runs a Handler for each request, in order, with the
// limits of a server that faces strangers. One per worker and handler; all calls on the worker's
// thread, except the constructor and listen(), which may come before run().
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.hpp"
#include "http/exchange.hpp"
#include "net/tls.hpp"
#include "net/worker.hpp"
#include "onceward/result.hpp"

namespace onceward::http {

struct ServerLimits {
  std::size_t header_bytes = 32 * 1024;
  Duration header_timeout = std::chrono::seconds(10);  // from the first byte of a head to its last
  Duration idle_timeout = std::chrono::seconds(60);    // between requests
  Duration body_timeout = std::chrono::seconds(30);    // for the next piece of a body
  Duration write_timeout = std::chrono::seconds(30);   // for the client to take the next bytes
  std::size_t max_connections = 10'000;                // of this server; over it: 503
  std::size_t drain_bytes = 64 * 1024;                 // of an unread body, before the connection is closed
};

// An answer that http cannot word itself.
struct PlainAnswer {
  std::string lines;  // "Name: value\r\n"
  std::string body;
};

class Handler {
 public:
  virtual ~Handler() = default;
  virtual Task<> handle(Exchange& exchange) = 0;
  // Bad framing (400), timeouts (408), limits (417, 431, 503): what the client is told.
  virtual PlainAnswer protocol_error(int status, std::string_view detail);
};

class Server {
 public:
  Server(net::Worker& worker, Handler& handler, ServerLimits limits = {});
  ~Server();  // after drained() or close_all(): no connection may be left

  // Start-up and reload: the files are read now; connections made before keep the old certificate.
  Result<Done> use_tls(const net::TlsFiles& files);

  // "127.0.0.1:8080", "[::1]:8080", "localhost:8080", ":8080". The result has the bound addresses, with
  // the real ports; the other workers listen on those with `share`. Without `share` a taken port is an
  // error, although the port can be shared afterwards. "unix:/path" is a socket in the file system that
  // only its owner may use; one that nobody listens on any more is replaced.
  Result<std::vector<std::string>> listen(const std::vector<std::string>& addresses, bool share = false);

  void set_limits(const ServerLimits& limits);

  std::size_t connections() const;

  // Stops accepting, closes idle connections, lets requests finish (answers say "Connection: close").
  // True when no connection is left; false when the deadline came first.
  Task<bool> drain(MonoTime deadline);
  // Cuts what is left; await drain() afterwards to see the last one end.
  void close_all();

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace onceward::http
