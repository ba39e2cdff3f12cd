#include "messaging/brokers/redis_line.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace onceward::messaging {
namespace {

MonoTime now() { return std::chrono::steady_clock::now(); }

Error unavailable(std::string message) { return {Errc::unavailable, std::move(message)}; }
Error system_error(const std::string& what, int code) {
  return unavailable(what + ": " + std::strerror(code));
}

int milliseconds_until(MonoTime deadline) {
  const auto left = std::chrono::ceil<Duration>(deadline - now());
  return static_cast<int>(std::clamp<Duration::rep>(left.count(), 0, 3'600'000));
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

// Connected, or why not.
Result<int> connect_to(const addrinfo& place, MonoTime deadline) {
  const int fd = ::socket(place.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return system_error("no socket", errno);
  int failure = ::connect(fd, place.ai_addr, place.ai_addrlen) == 0 ? 0 : errno;
  if (failure == EINPROGRESS) {
    pollfd waiting{fd, POLLOUT, 0};
    socklen_t size = sizeof failure;
    if (::poll(&waiting, 1, milliseconds_until(deadline)) != 1) {
      failure = ETIMEDOUT;
    } else {
      ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size);
    }
  }
  if (failure != 0) {
    ::close(fd);
    return system_error("cannot connect", failure);
  }
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  return fd;
}

Result<int> connect_to(const BrokerHost& host, MonoTime deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* raw = nullptr;
  const std::string port = host.port.empty() ? "6379" : host.port;
  if (const int wrong = getaddrinfo(host.host.c_str(), port.c_str(), &hints, &raw); wrong != 0)
    return unavailable("cannot find " + host.host + ": " + gai_strerror(wrong));
  const std::unique_ptr<addrinfo, FreeAddresses> found(raw);
  Result<int> connected = unavailable("no address");
  for (const addrinfo* place = found.get(); place && !connected; place = place->ai_next)
    connected = connect_to(*place, deadline);
  if (!connected) return unavailable(host.host + ":" + port + ": " + connected.error().message);
  return connected;
}

std::string as_bytes(const RedisCommand& command) {
  std::string bytes = "*" + std::to_string(command.size()) + "\r\n";
  for (const std::string& argument : command)
    bytes.append("$").append(std::to_string(argument.size())).append("\r\n").append(argument).append("\r\n");
  return bytes;
}

}  // namespace

RedisLine::RedisLine(int fd, Duration timeout) : fd_(fd), timeout_(timeout), reader_(redisReaderCreate()) {}
RedisLine::~RedisLine() { ::close(fd_); }

Result<std::unique_ptr<RedisLine>> RedisLine::open(const BrokerUrl& address, Duration timeout) {
  const MonoTime deadline = now() + timeout;
  const Result<int> fd = connect_to(address.hosts[0], deadline);
  if (!fd) return fd.error();
  std::unique_ptr<RedisLine> line(new RedisLine(*fd, timeout));
  if (address.scheme == "rediss") {
    if (Result<Done> shaken = line->shake_hands(address, deadline); !shaken) return shaken.error();
  }
  if (Result<Done> known = line->introduce(address); !known) return known.error();
  return line;
}

Result<Done> RedisLine::shake_hands(const BrokerUrl& address, MonoTime deadline) {
  const net::ClientTls tls = address.tls();
  Result<net::TlsContext> context = net::make_client_tls(tls);
  if (!context) return context.error();
  context_ = std::move(*context);
  session_ = net::connect_tls(*context_, fd_, address.hosts[0].host, tls.verify);
  for (;;) {
    const int done = SSL_connect(session_.get());
    if (done == 1) return Done{};
    const int why = SSL_get_error(session_.get(), done);
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
      return unavailable("TLS: " + net::tls_error_text());
    if (wait(why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, nullptr, deadline) != Ended::ready)
      return unavailable("TLS: no answer in time");
  }
}

Result<Done> RedisLine::introduce(const BrokerUrl& address) {
  std::vector<RedisCommand> words;
  if (!address.password.empty() && !address.user.empty())
    words.push_back({"AUTH", address.user, address.password});
  if (!address.password.empty() && address.user.empty()) words.push_back({"AUTH", address.password});
  if (!address.path.empty()) words.push_back({"SELECT", address.path});
  for (const RedisCommand& command : words) {
    if (Result<RedisReply> answer = ask(command); !answer) return answer.error();
  }
  // For people who look at the server; a user may lack the right to it.
  const Result<RedisReply> named = ask({"CLIENT", "SETNAME", "onceward"});
  if (!named && named.error().code != Errc::refused) return named.error();
  return Done{};
}

Result<RedisReply> RedisLine::ask(const RedisCommand& command) {
  const MonoTime deadline = now() + timeout_;
  if (Result<Done> sent = send(command, deadline); !sent) return sent.error();
  Result<RedisReply> reply = receive(nullptr, deadline);
  if (reply && !*reply) return unavailable("the server did not answer in time");
  return reply;
}

Result<Done> RedisLine::send(const RedisCommand& command, MonoTime deadline) {
  return write_all(as_bytes(command), deadline);
}

Result<RedisReply> RedisLine::receive(const WakeUp* wake, MonoTime deadline) {
  for (;;) {
    void* raw = nullptr;
    if (redisReaderGetReply(reader_.get(), &raw) != REDIS_OK)
      return unavailable("what the server said is not the protocol of Redis");
    if (raw) {
      RedisReply reply(static_cast<redisReply*>(raw));
      if (reply->type == REDIS_REPLY_ERROR) return Error{Errc::refused, std::string(text_of(*reply))};
      return reply;
    }
    const Result<std::size_t> read = read_some();
    if (!read) return read.error();
    if (*read == 0 && wait(events_, wake, deadline) != Ended::ready) return RedisReply();
  }
}

Result<Done> RedisLine::write_all(std::string_view bytes, MonoTime deadline) {
  while (!bytes.empty()) {
    short events = POLLOUT;
    std::size_t written = 0;
    if (session_) {
      const int done = SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &written);
      if (done != 1) {
        const int why = SSL_get_error(session_.get(), done);
        if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
          return unavailable("the connection was lost: " + net::tls_error_text());
        if (why == SSL_ERROR_WANT_READ) events = POLLIN;
      }
    } else {
      const ssize_t done = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (done < 0 && errno != EAGAIN && errno != EINTR)
        return system_error("the connection was lost", errno);
      if (done > 0) written = static_cast<std::size_t>(done);
    }
    bytes.remove_prefix(written);
    if (written == 0 && wait(events, nullptr, deadline) != Ended::ready)
      return unavailable("the server takes nothing");
  }
  return Done{};
}

Result<std::size_t> RedisLine::read_some() {
  std::array<char, 16384> buffer;
  std::size_t size = 0;
  events_ = POLLIN;
  if (session_) {
    const int done = SSL_read_ex(session_.get(), buffer.data(), buffer.size(), &size);
    if (done != 1) {
      const int why = SSL_get_error(session_.get(), done);
      if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
        return unavailable("the server closed the connection");
      if (why == SSL_ERROR_WANT_WRITE) events_ = POLLOUT;
      return std::size_t{0};
    }
  } else {
    const ssize_t done = ::recv(fd_, buffer.data(), buffer.size(), 0);
    if (done == 0) return unavailable("the server closed the connection");
    if (done < 0 && (errno == EAGAIN || errno == EINTR)) return std::size_t{0};
    if (done < 0) return system_error("the connection was lost", errno);
    size = static_cast<std::size_t>(done);
  }
  redisReaderFeed(reader_.get(), buffer.data(), size);
  return size;
}

RedisLine::Ended RedisLine::wait(short events, const WakeUp* wake, MonoTime deadline) const {
  std::array<pollfd, 2> both = {pollfd{fd_, events, 0}, pollfd{wake ? wake->fd() : -1, POLLIN, 0}};
  for (;;) {
    if (::poll(both.data(), both.size(), milliseconds_until(deadline)) > 0) break;
    if (now() >= deadline) return Ended::time_over;
  }
  if (both[0].revents != 0) return Ended::ready;
  wake->clear();
  return Ended::woken;
}

}  // namespace onceward::messaging
