#include "http/upstream_pool.hpp"

#include <algorithm>

#include "net/connect.hpp"

namespace onceward::http {
namespace {

Error unreachable(const Url& url, std::string_view why) {
  const std::string& place = url.socket.empty() ? url.authority : url.socket;
  return {Errc::unavailable, place + ": " + std::string(why)};
}

}  // namespace

bool UpstreamPool::is_usable(const UpstreamSocket& socket, MonoTime now) const {
  return now - socket.idle_since <= options.idle_timeout && socket.stream.quiet();
}

UpstreamPool::Socket UpstreamPool::take_idle() {
  // Whoever waits for a place comes first.
  if (!turn.empty() || promised != 0 || in_use >= options.max_connections) return nullptr;
  Socket socket = pop_idle();
  if (socket) ++in_use;
  return socket;
}

UpstreamPool::Socket UpstreamPool::pop_idle() {
  const MonoTime now = net::Worker::recently();
  while (!idle.empty()) {
    Socket socket = std::move(idle.back());
    idle.pop_back();
    if (!is_usable(*socket, now)) continue;
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
    socket->long_piece.drop();
    socket->stream.begins_idle();
    socket->idle_since = net::Worker::recently();
    idle.push_back(std::move(socket));
    if (!reaper.armed()) worker.arm(reaper, net::Worker::recently() + options.idle_timeout);
  }
  socket.reset();
  leave_place();
}

void UpstreamPool::drop_old() {
  const MonoTime now = net::Worker::now();
  std::erase_if(
      idle, [&](const Socket& socket) { return !is_usable(*socket, now) || !socket->stream.is_still(now); });
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

Task<Result<UpstreamPool::Socket>> UpstreamPool::open_at(net::SocketAddress address, MonoTime deadline) {
  const Result<int> fd = net::begin_connect(address);
  if (!fd) co_return unreachable(url, fd.error().message);
  // Watched only now: a socket that has not begun to connect reports a hang-up.
  auto socket = std::make_unique<UpstreamSocket>(worker, *fd, options.header_bytes);
  const Result<Done> connected =
      co_await net::finish_connect(socket->stream, tls.get(), url.host, options.tls.verify, deadline);
  if (!connected) co_return unreachable(url, connected.error().message);
  socket->stream.begins_idle();
  co_return std::move(socket);
}

Task<Result<UpstreamPool::Socket>> UpstreamPool::open(MonoTime deadline) {
  // Idle connections count as well, as far as the upstream is concerned.
  if (in_use + idle.size() > options.max_connections && !idle.empty()) idle.erase(idle.begin());
  if (!url.socket.empty()) {
    const Result<net::SocketAddress> address = net::unix_address(url.socket);
    if (!address) co_return unreachable(url, address.error().message);
    co_return co_await open_at(*address, deadline);
  }
  const auto addresses = co_await resolver.addresses(deadline);
  if (!addresses) co_return addresses.error();
  Error error;
  for (std::size_t i = 0; i < addresses->size(); ++i) {
    // An address that swallows everything must leave time for the others.
    const MonoTime now = net::Worker::now();
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
