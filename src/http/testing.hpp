// Support for this module's tests: blocking raw clients, and an upstream whose every byte the test decides.
// Every wait is bounded.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/task.hpp"
#include "http/server.hpp"
#include "http/upstream.hpp"
#include "net/testing.hpp"

namespace onceward::http::testing {

using namespace std::chrono_literals;

using net::testing::WorkerThread;

// A blocking socket; reads give up after 30 seconds, so that a hang is a failure.
class Raw {
 public:
  explicit Raw(int fd) : fd_(fd) {
    const timeval limit{30, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  }
  Raw(Raw&& other) noexcept : fd_(std::exchange(other.fd_, -1)), rest_(std::move(other.rest_)) {}
  ~Raw() { close(); }

  static Raw connect(const std::string& address) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return Raw(fd);
  }

  bool send(std::string_view data) {
    while (!data.empty()) {
      const auto n = ::send(fd_, data.data(), data.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      data.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  // Everything up to and with `mark`; shorter when the peer ended before.
  std::string read_until(std::string_view mark) {
    std::size_t at = 0;
    while ((at = rest_.find(mark)) == std::string::npos)
      if (!more()) return std::exchange(rest_, {});
    return take(at + mark.size());
  }
  std::string read_bytes(std::size_t bytes) {
    while (rest_.size() < bytes)
      if (!more()) return std::exchange(rest_, {});
    return take(bytes);
  }
  // Reads and forgets; how many bytes there were, up to `bytes`. Allocates nothing.
  std::size_t skip(std::size_t bytes) {
    std::size_t skipped = std::min(bytes, rest_.size());
    rest_.erase(0, skipped);
    static thread_local char sink[65536];
    while (skipped < bytes) {
      const auto n = ::recv(fd_, sink, std::min(sizeof sink, bytes - skipped), 0);
      if (n <= 0) break;
      skipped += static_cast<std::size_t>(n);
    }
    return skipped;
  }
  std::string read_all() {
    while (more()) continue;
    return std::exchange(rest_, {});
  }
  // Head and body of one answer with Content-Length (or none).
  std::string read_answer() {
    std::string head = read_until("\r\n\r\n");
    const std::size_t at = head.find("Content-Length: ");
    if (at == std::string::npos) return head;
    return head + read_bytes(std::stoul(head.substr(at + 16)));
  }
  bool at_end() { return rest_.empty() && !more() && ended_; }  // the peer has closed, orderly
  bool was_reset() {
    while (more()) continue;
    return reset_;
  }
  void shutdown_write() { ::shutdown(fd_, SHUT_WR); }
  void reset() {
    const linger now{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  int fd() const { return fd_; }

 private:
  bool more() {
    char bytes[16384];
    const auto n = ::recv(fd_, bytes, sizeof bytes, 0);
    ended_ = n == 0;
    reset_ = n < 0 && errno == ECONNRESET;
    if (n <= 0) return false;
    rest_.append(bytes, static_cast<std::size_t>(n));
    return true;
  }
  std::string take(std::size_t bytes) {
    std::string taken = rest_.substr(0, bytes);
    rest_.erase(0, bytes);
    return taken;
  }
  int fd_;
  std::string rest_;
  bool ended_ = false;
  bool reset_ = false;
};

// A listening socket whose connections the test accepts and answers itself.
class RawListener {
 public:
  RawListener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    EXPECT_EQ(::listen(fd_, 64), 0);
    socklen_t bytes = sizeof to;
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&to), &bytes);
    port_ = ntohs(to.sin_port);
    const timeval limit{30, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  ~RawListener() { ::close(fd_); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  Raw accept() {
    const int fd = ::accept(fd_, nullptr, nullptr);
    EXPECT_GE(fd, 0) << "nobody connected";
    return Raw(fd);
  }
  bool has_connection(int wait_ms) {
    pollfd entry{fd_, POLLIN, 0};
    return ::poll(&entry, 1, wait_ms) == 1;
  }

 private:
  int fd_;
  int port_ = 0;
};

class FunctionHandler final : public Handler {
 public:
  explicit FunctionHandler(std::function<Task<>(Exchange&)> handle) : handle_(std::move(handle)) {}
  Task<> handle(Exchange& exchange) override { return handle_(exchange); }

 private:
  std::function<Task<>(Exchange&)> handle_;
};

// A server on its own worker; drained and gone at the end of the test.
class RunningServer {
 public:
  explicit RunningServer(std::function<Task<>(Exchange&)> handle, ServerLimits limits = {},
                         const net::TlsFiles* tls = nullptr)
      : handler_(std::move(handle)) {
    worker.run([&] {
      server = std::make_unique<Server>(*worker, handler_, limits);
      if (tls) EXPECT_TRUE(server->use_tls(*tls));
      const auto bound = server->listen({"127.0.0.1:0"});
      ASSERT_TRUE(bound) << bound.error().message;
      address = bound->front();
    });
  }
  ~RunningServer() {
    worker.run([&] { server->close_all(); });
    EXPECT_TRUE(worker.run<bool>([&] { return server->drain(net::Worker::now() + 30s); }));
    worker.run([&] {
      upstream.reset();
      server.reset();
    });
  }
  void make_upstream(UpstreamOptions options) {
    worker.run([&] {
      auto made = Upstream::make(*worker, options);
      ASSERT_TRUE(made) << made.error().message;
      upstream = std::move(*made);
    });
  }
  Raw connect() const { return Raw::connect(address); }

  WorkerThread worker;
  std::unique_ptr<Server> server;
  std::unique_ptr<Upstream> upstream;
  std::string address;

 private:
  FunctionHandler handler_;
};

}  // namespace onceward::http::testing
