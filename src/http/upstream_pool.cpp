#include "http/upstream_pool.hpp"

#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace onceward::http {
namespace {

Error unreachable(const Url& url, std::string_view why) {
  return {Errc::unavailable, url.authority + ": " + std::string(why)};
}

int connect_error(int fd) {
  int error = 0;
  socklen_t bytes = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 ? error : errno;
}

}  // namespace

UpstreamPool::Socket UpstreamPool::take_idle() {
  // Whoever waits for a place comes first.
  if (!turn.empty() || promised != 0 || in_use >= options.max_connections) return nullptr;
  Socket socket = pop_idle();
  if (socket) ++in_use;
  return socket;
}

UpstreamPool::Socket UpstreamPool::pop_idle() {
  const MonoTime now = Worker::now();
  while (!idle.empty()) {
    Socket socket = std::move(idle.back());
    idle.pop_back();
    if (now - socket->idle_since > options.idle_timeout || !socket->stream.quiet()) continue;
    socket->reused = true;
    socket->begin_lease();
    return socket;
  }
  return nullptr;
}

void UpstreamPool::give_back(Socket socket) {
  if (!closed && socket->reusable()) {
    socket->in.unpin();
    socket->in.drop();
    socket->idle_since = Worker::now();
    idle.push_back(std::move(socket));
    if (!reaper.armed()) worker.arm(reaper, Worker::now() + options.idle_timeout);
  }
  socket.reset();
  leave_place();
}

void UpstreamPool::drop_old() {
  const MonoTime now = Worker::now();
  std::erase_if(idle, [&](const Socket& socket) {
    return now - socket->idle_since > options.idle_timeout || !socket->stream.quiet();
  });
  if (!idle.empty()) worker.arm(reaper, now + options.idle_timeout);
}

void UpstreamPool::leave_place() {
  ONCEWARD_ASSERT(in_use > 0);
  --in_use;
  if (turn.wake_one()) ++promised;
}

Task<bool> UpstreamPool::take_place(MonoTime deadline) {
  if (in_use + promised >= options.max_connections || !turn.empty()) {
    if (!co_await turn.wait(deadline)) co_return false;
    --promised;
  }
  ++in_use;
  co_return true;
}

Task<Result<UpstreamPool::Socket>> UpstreamPool::open_at(SocketAddress address, MonoTime deadline) {
  const int fd = ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) co_return unreachable(url, std::strerror(errno));
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const bool begun = ::connect(fd, address.get(), address.bytes) == 0 || errno == EINPROGRESS;
  if (!begun) {
    const Error error = unreachable(url, std::strerror(errno));
    ::close(fd);
    co_return error;
  }
  // Watched only now: a socket that has not begun to connect reports a hang-up.
  auto socket = std::make_unique<UpstreamSocket>(worker, fd, options.header_bytes);
  if (co_await socket->stream.writable(deadline) != IoStatus::ok)
    co_return unreachable(url, "no connection in time");
  if (const int error = connect_error(fd)) co_return unreachable(url, std::strerror(error));
  if (tls) {
    socket->stream.use_tls(connect_tls(*tls, fd, url.host, options.verify));
    if (!co_await socket->stream.handshake(deadline))
      co_return unreachable(url, "the TLS handshake failed: " + tls_error_text());
  }
  co_return std::move(socket);
}

Task<Result<UpstreamPool::Socket>> UpstreamPool::open(MonoTime deadline) {
  // Idle connections count as well, as far as the upstream is concerned.
  if (in_use + idle.size() > options.max_connections && !idle.empty()) idle.erase(idle.begin());
  const auto addresses = co_await resolver.addresses(deadline);
  if (!addresses) co_return addresses.error();
  Error error;
  for (std::size_t i = 0; i < addresses->size(); ++i) {
    // An address that swallows everything must leave time for the others.
    const MonoTime now = Worker::now();
    const auto left = static_cast<std::int64_t>(addresses->size() - i);
    auto socket =
        co_await open_at((*addresses)[i], now + std::max(deadline - now, MonoTime::duration(0)) / left);
    if (socket) co_return std::move(socket);
    error = socket.error();
  }
  resolver.distrust();
  co_return error;
}

}  // namespace onceward::http
