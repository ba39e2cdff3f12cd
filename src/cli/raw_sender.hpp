// RawSender: sends requests exactly as given, many at once if asked to, and tells what became of each.
// Blocking calls from one thread; the sockets live on a worker of its own.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client/attempt.hpp"
#include "net/worker.hpp"

namespace onceward::cli {

class RawSender {
 public:
  // Errc::invalid when the URL is none, others when TLS cannot be set up.
  static Result<std::unique_ptr<RawSender>> make(const http::UpstreamOptions& options);
  ~RawSender();

  client::Attempt send(const client::WireRequest& request);
  std::vector<client::Attempt> send_all(const std::vector<client::WireRequest>& requests);
  // Sends it and leaves without waiting for an answer. False when nothing was sent.
  bool send_and_leave(const client::WireRequest& request);

  net::Worker& worker() { return worker_; }
  http::Upstream& upstream() { return *upstream_; }

 private:
  RawSender() : thread_([this] { worker_.run(); }) {}
  net::Worker worker_;
  std::unique_ptr<http::Upstream> upstream_;  // the worker's
  std::thread thread_;
};

// The request with these lines (without line ends) where its key was: none, one, or several.
client::WireRequest with_key_lines(client::WireRequest request, const std::vector<std::string>& lines);

}  // namespace onceward::cli
