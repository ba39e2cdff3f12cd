// The service behind the proxies that are compared: answers every request at once with the same order, on one
// thread. It runs on the cores that the proxies run on, so it does the least that a client of HTTP/1.1 can be
// answered with: what it does not use of them shows how far a proxy gets before something else is the limit.
//
//   upstream PORT ANSWER
//
// Only for the benchmark: requests are trusted, bodies have a Content-Length.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace {

struct Connection {
  int fd = -1;
  std::string head;             // the beginning of a head that is not here whole
  std::uint64_t body_left = 0;  // of the request that is being read
  bool answer_due = false;      // when its body has been read
};

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

// Proxies write the name in one of these ways.
std::uint64_t content_length(std::string_view head) {
  for (const std::string_view name : {"\r\nContent-Length:", "\r\ncontent-length:"}) {
    const std::size_t at = head.find(name);
    if (at != head.npos) return std::strtoull(head.data() + at + name.size(), nullptr, 10);
  }
  return 0;
}

class Service {
 public:
  explicit Service(std::string_view body) : body_(body) { write_answer(); }

  // False: the connection has ended.
  bool read(Connection& connection) {
    // Edge-triggered: a read that did not fill the buffer has taken all there is.
    for (ssize_t count = static_cast<ssize_t>(in_.size()); count == static_cast<ssize_t>(in_.size());) {
      count = ::syscall(SYS_recvfrom, connection.fd, in_.data(), in_.size(), 0, nullptr, nullptr);
      if (count < 0) return errno == EAGAIN;
      if (count == 0 || !add(connection, static_cast<std::size_t>(count))) return false;
    }
    return true;
  }

  // The date moves on, as that of any service does.
  void write_answer() {
    const std::time_t now = std::time(nullptr);
    if (now == written_at_) return;
    written_at_ = now;
    std::array<char, 64> date{};
    std::strftime(date.data(), date.size(), "%a, %d %b %Y %H:%M:%S GMT", std::gmtime(&now));
    answer_ = "HTTP/1.1 201 Created\r\nServer: orders/1.0\r\nDate: " + std::string(date.data()) +
              "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body_.size()) +
              "\r\nConnection: keep-alive\r\n\r\n" + body_;
  }

 private:
  bool add(Connection& connection, std::size_t count) {
    std::string_view bytes(in_.data(), count);
    if (!connection.head.empty()) {
      connection.head.append(bytes);
      joined_ = std::exchange(connection.head, {});
      bytes = joined_;
    }
    return take(connection, bytes);
  }

  bool take(Connection& connection, std::string_view bytes) {
    for (;;) {
      const auto of_body = std::min<std::uint64_t>(connection.body_left, bytes.size());
      bytes.remove_prefix(of_body);
      connection.body_left -= of_body;
      if (connection.answer_due && connection.body_left == 0) {
        connection.answer_due = false;
        // A client reads its answer before it sends the next request, so there is always room for one.
        if (::syscall(SYS_sendto, connection.fd, answer_.data(), answer_.size(), MSG_NOSIGNAL, nullptr, 0) !=
            static_cast<ssize_t>(answer_.size()))
          return false;
      }
      if (bytes.empty()) return true;
      const std::size_t end = bytes.find("\r\n\r\n");
      if (end == std::string_view::npos) {
        connection.head = bytes;
        return true;
      }
      connection.body_left = content_length(bytes.substr(0, end + 4));
      connection.answer_due = true;
      bytes.remove_prefix(end + 4);
    }
  }

  const std::string body_;
  std::string answer_;
  std::time_t written_at_ = 0;
  std::string joined_;
  std::array<char, 64 * 1024> in_{};
};

int listen_on(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) give_up("socket");
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) give_up("bind");
  if (::listen(fd, 4096) != 0) give_up("listen");
  return fd;
}

void accept_all(int listener, int epoll) {
  for (;;) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
    event.data.ptr = std::make_unique<Connection>(Connection{.fd = fd}).release();
    if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) give_up("epoll_ctl");
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: upstream PORT ANSWER\n");
    return 2;
  }
  const int listener = listen_on(static_cast<std::uint16_t>(std::atoi(arguments[1])));
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  if (epoll < 0 || ::epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) != 0) give_up("epoll");
  const auto service = std::make_unique<Service>(arguments[2]);
  std::array<epoll_event, 512> events{};
  for (;;) {
    const int ready = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    service->write_answer();
    for (int i = 0; i < ready; ++i) {
      auto* connection = static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr);
      if (!connection) {
        accept_all(listener, epoll);
      } else if (!service->read(*connection)) {
        ::close(connection->fd);
        delete connection;
      }
    }
  }
}
