// TcpGate: a TCP relay between a store and its server, on a thread of its own. It can end the connection that
// carries the n-th byte from now on in one direction, right behind that byte, in an orderly way (FIN) or not
// (RST). It can also be slow to tell the server of connections that the client has closed, and do something
// between the server's answer and its arrival.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace onceward::testing {

class TcpGate {
 public:
  enum class Direction : std::uint8_t { up, down };  // to the server, from the server

  explicit TcpGate(std::uint16_t target) : target_(target) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in here = loopback(0);
    socklen_t bytes = sizeof here;
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&here), bytes) != 0 ||
        ::listen(listener_, 64) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&here), &bytes) != 0)
      throw std::runtime_error("the gate cannot listen");
    port_ = ntohs(here.sin_port);
    wake_ = ::eventfd(0, EFD_CLOEXEC);
    thread_ = std::thread([this] { run(); });
  }
  ~TcpGate() {
    ending_ = true;
    const std::uint64_t one = 1;
    (void)!::write(wake_, &one, sizeof one);
    thread_.join();
    for (const int fd : {listener_, wake_}) ::close(fd);
  }
  TcpGate(const TcpGate&) = delete;
  TcpGate& operator=(const TcpGate&) = delete;

  std::uint16_t port() const { return port_; }

  void cut_after(Direction direction, std::int64_t bytes, bool with_reset) {
    const std::lock_guard lock(mutex_);
    armed_ = true;
    direction_ = direction;
    left_ = bytes;
    with_reset_ = with_reset;
  }
  // Whether it has cut since cut_after; from now on everything passes.
  bool disarm() {
    const std::lock_guard lock(mutex_);
    const bool has_cut = !armed_;
    armed_ = false;
    return has_cut;
  }
  // From now on the server does not learn, until the gate ends, that a client has gone.
  void keep_farewells() { keeps_farewells_ = true; }
  // Called once, on the gate's thread, before anything more that the server says is passed on.
  void before_next_answer(std::function<void()> act) {
    const std::lock_guard lock(mutex_);
    before_next_answer_ = std::move(act);
  }
  std::int64_t passed(Direction direction) {
    const std::lock_guard lock(mutex_);
    return passed_[static_cast<std::size_t>(direction)];
  }

 private:
  struct Pair {
    int near;
    int far;
  };

  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
  }

  void run() {
    while (!ending_) {
      std::vector<pollfd> watched{{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
      for (const Pair& pair : pairs_) {
        watched.push_back({pair.near, POLLIN, 0});
        watched.push_back({pair.far, POLLIN, 0});
      }
      ::poll(watched.data(), watched.size(), -1);
      std::size_t at = 2;
      for (auto pair = pairs_.begin(); pair != pairs_.end(); at += 2) {
        bool stays = !watched[at].revents || pass(pair->near, pair->far, Direction::up);
        stays = stays && (!watched[at + 1].revents || pass(pair->far, pair->near, Direction::down));
        if (!stays) end(*pair);
        pair = stays ? std::next(pair) : pairs_.erase(pair);
      }
      if (watched[1].revents) take();
    }
    for (const Pair& pair : pairs_) end(pair);
    for (const int far : without_client_) ::close(far);
  }

  void take() {
    const int near = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int far = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in there = loopback(target_);
    if (near < 0 || ::connect(far, reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0) {
      ::close(near);
      ::close(far);
      return;
    }
    const int on = 1;
    for (const int fd : {near, far}) ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    pairs_.push_back({near, far});
  }

  // False: the connection is to end.
  bool pass(int from, int to, Direction direction) {
    std::array<char, 16384> piece;
    const ssize_t got = ::recv(from, piece.data(), piece.size(), 0);
    if (got <= 0) return false;
    if (direction == Direction::down) act_before_answer();
    std::int64_t allowed = got;
    bool cuts = false;
    {
      const std::lock_guard lock(mutex_);
      if (armed_ && direction == direction_) {
        allowed = std::min<std::int64_t>(allowed, left_);
        left_ -= allowed;
        cuts = left_ == 0;
        armed_ = !cuts;
      }
      passed_[static_cast<std::size_t>(direction)] += allowed;
    }
    for (std::int64_t sent = 0; sent < allowed;) {
      const ssize_t some =
          ::send(to, piece.data() + sent, static_cast<std::size_t>(allowed - sent), MSG_NOSIGNAL);
      if (some <= 0) return false;
      sent += some;
    }
    return !cuts;
  }

  void act_before_answer() {
    std::function<void()> act;
    {
      const std::lock_guard lock(mutex_);
      act.swap(before_next_answer_);
    }
    if (act) act();
  }

  void end(const Pair& pair) {
    if (keeps_farewells_) {
      ::close(pair.near);
      without_client_.push_back(pair.far);
      return;
    }
    if (with_reset_) {
      const linger at_once{1, 0};
      for (const int fd : {pair.near, pair.far})
        ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    ::close(pair.near);
    ::close(pair.far);
  }

  const std::uint16_t target_;
  int listener_ = -1;
  int wake_ = -1;
  std::uint16_t port_ = 0;
  std::list<Pair> pairs_;            // the thread's
  std::vector<int> without_client_;  // the thread's
  std::atomic<bool> ending_{false};
  std::atomic<bool> with_reset_{false};
  std::atomic<bool> keeps_farewells_{false};
  std::mutex mutex_;
  bool armed_ = false;                        // guarded by mutex_
  Direction direction_ = Direction::up;       // guarded by mutex_
  std::int64_t left_ = 0;                     // guarded by mutex_
  std::array<std::int64_t, 2> passed_{};      // guarded by mutex_
  std::function<void()> before_next_answer_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace onceward::testing
