#include "http/server.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <list>
#include <memory>

#include "base/await.hpp"
#include "http/connection.hpp"
#include "net/address.hpp"
#include "net/socket_options.hpp"
#include "net/wait_list.hpp"

namespace onceward::http {
namespace {

constexpr std::size_t refusals_max = 64;  // connections over the limit that are told so at one time
constexpr int backlog = 1024;
constexpr Duration accept_pause = std::chrono::milliseconds(50);

Error system_error(const std::string& what) {
  const Errc code = errno == EADDRINUSE || errno == EACCES ? Errc::conflict : Errc::unavailable;
  return {code, what + ": " + std::strerror(errno)};
}

int open_socket(const net::SocketAddress& address, bool share) {
  const int fd = ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return fd;
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (share) ::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  if (address.family() == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  return fd;
}

// SO_REUSEPORT would quietly share the port with another program of the same user, so whether it is
// taken is asked without it first. Not by listening: whoever connected to that would be cut off.
Result<Done> check_free(const net::SocketAddress& address) {
  const int fd = open_socket(address, false);
  if (fd < 0) return system_error(net::host_port_text(address));
  const bool free = ::bind(fd, address.get(), address.bytes) == 0;
  const Error error = free ? Error{} : system_error(net::host_port_text(address));
  ::close(fd);
  if (!free) return error;
  return Done{};
}

Result<int> bind_and_listen(const net::SocketAddress& address) {
  const int fd = open_socket(address, true);
  if (fd < 0) return system_error(net::host_port_text(address));
  if (::bind(fd, address.get(), address.bytes) == 0 && ::listen(fd, backlog) == 0) return fd;
  const Error error = system_error(net::host_port_text(address));
  ::close(fd);
  return error;
}

// A path that a process still listens on is taken; anything there but a socket is not ours to remove.
Result<Done> clear_path(const net::SocketAddress& address, const std::string& path) {
  struct stat there{};
  if (::lstat(path.c_str(), &there) != 0) return Done{};
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return system_error(path);
  const bool taken = !S_ISSOCK(there.st_mode) || ::connect(fd, address.get(), address.bytes) == 0;
  ::close(fd);
  errno = EADDRINUSE;
  if (taken) return system_error(path);
  if (::unlink(path.c_str()) != 0) return system_error(path);
  return Done{};
}

// Between bind and listen nobody can connect, so the mode is set before anybody could use another.
Result<int> listen_at_path(const net::SocketAddress& address, const std::string& path) {
  if (const auto cleared = clear_path(address, path); !cleared) return cleared.error();
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return system_error(path);
  if (::bind(fd, address.get(), address.bytes) == 0 && ::chmod(path.c_str(), 0600) == 0 &&
      ::listen(fd, backlog) == 0)
    return fd;
  const Error error = system_error(path);
  ::close(fd);
  return error;
}

bool has_port_zero(const net::SocketAddress& address) { return host_port_text(address).ends_with(":0"); }

net::SocketAddress bound_address(int fd) {
  net::SocketAddress address;
  address.bytes = sizeof address.storage;
  ::getsockname(fd, address.get(), &address.bytes);
  return address;
}

}  // namespace

PlainAnswer Handler::protocol_error(int, std::string_view detail) {
  return {"Content-Type: text/plain\r\n", std::string(detail) + "\n"};
}

struct Server::Impl {
  Impl(net::Worker& worker, Handler& handler, ServerLimits limits)
      : shared{worker, handler, limits}, emptied(worker) {}

  ServerShared shared;
  std::shared_ptr<SSL_CTX> tls;
  std::list<std::unique_ptr<net::Stream>> listeners;
  std::vector<std::string> paths;  // of sockets in the file system
  std::size_t accepting = 0;       // accept loops that run
  std::list<Connection> connections;
  net::WaitList emptied;

  bool idle() const { return connections.empty() && accepting == 0; }
  void ended() {
    if (idle()) emptied.wake_all();
  }
  Result<std::string> listen_on(const net::SocketAddress& address, bool share);
  Result<std::string> listen_on_path(const std::string& path);
  std::string accept_on(int fd);
  void stop_listening();
  Result<Done> listen_on_all(const std::vector<net::SocketAddress>& addresses, bool share,
                             std::vector<std::string>& bound);
  Task<> accept_loop(net::Stream& listener);
  void accept_one(int fd, const net::SocketAddress& from);
  Task<> run_connection(std::list<Connection>::iterator connection, bool refused);
};

Server::Server(net::Worker& worker, Handler& handler, ServerLimits limits)
    : impl_(std::make_unique<Impl>(worker, handler, limits)) {}

Server::~Server() {
  impl_->stop_listening();
  ONCEWARD_ASSERT(impl_->idle());
}

Result<Done> Server::use_tls(const net::TlsFiles& files) {
  auto context = net::make_server_tls(files);
  if (!context) return context.error();
  impl_->tls = std::move(*context);
  return Done{};
}

Result<std::string> Server::Impl::listen_on(const net::SocketAddress& address, bool share) {
  if (!share)
    if (const auto free = check_free(address); !free) return free.error();
  const auto fd = bind_and_listen(address);
  if (!fd) return fd.error();
  return accept_on(*fd);
}

Result<std::string> Server::Impl::listen_on_path(const std::string& path) {
  const auto address = net::unix_address(path);
  if (!address) return address.error();
  const auto fd = listen_at_path(*address, path);
  if (!fd) return fd.error();
  paths.push_back(path);
  return accept_on(*fd);
}

std::string Server::Impl::accept_on(int fd) {
  listeners.push_back(std::make_unique<net::Stream>(shared.worker, fd));
  ++accepting;
  spawn(accept_loop(*listeners.back()));
  return net::host_port_text(bound_address(fd));
}

void Server::Impl::stop_listening() {
  for (auto& listener : listeners) listener->close_now();
  for (const std::string& path : paths) ::unlink(path.c_str());
  paths.clear();
}

Result<Done> Server::Impl::listen_on_all(const std::vector<net::SocketAddress>& addresses, bool share,
                                         std::vector<std::string>& bound) {
  const std::size_t before = bound.size();
  Error error;
  for (const net::SocketAddress& address : addresses) {
    auto one = listen_on(address, share);
    if (one) {
      bound.push_back(std::move(*one));
      if (has_port_zero(address)) return Done{};  // two families would get two ports
    } else {
      error = one.error();
      // A family that this machine does not have is no reason not to start; a taken port is.
      if (error.code == Errc::conflict) return error;
    }
  }
  if (bound.size() == before) return error;
  return Done{};
}

Result<std::vector<std::string>> Server::listen(const std::vector<std::string>& addresses, bool share) {
  std::vector<std::string> bound;
  for (const std::string& text : addresses) {
    if (text.starts_with(net::unix_prefix)) {
      auto one = impl_->listen_on_path(text.substr(net::unix_prefix.size()));
      if (!one) return one.error();
      bound.push_back(std::move(*one));
      continue;
    }
    const auto parsed = net::parse_host_port(text);
    if (!parsed) return parsed.error();
    const auto resolved = net::resolve_address(parsed->host, parsed->port, true);
    if (!resolved) return resolved.error();
    if (const auto done = impl_->listen_on_all(*resolved, share, bound); !done) return done.error();
  }
  return bound;
}

Task<> Server::Impl::accept_loop(net::Stream& listener) {
  while (!shared.draining) {
    if (co_await listener.readable(MonoTime::max()) != net::IoStatus::ok) break;
    net::SocketAddress from;
    from.bytes = sizeof from.storage;
    const int fd = ::accept4(listener.fd(), from.get(), &from.bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      accept_one(fd, from);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      listener.not_readable();
    } else if (errno != ECONNABORTED && errno != EINTR) {
      // Out of descriptors or memory: trying at once would only spin.
      co_await SleepUntil(shared.worker, net::Worker::now() + accept_pause);
    }
  }
  --accepting;
  ended();
}

void Server::Impl::accept_one(int fd, const net::SocketAddress& from) {
  if (connections.size() >= shared.limits.max_connections + refusals_max) {
    ::close(fd);
    return;
  }
  net::set_connection_options(fd, from);
  const bool refused = connections.size() >= shared.limits.max_connections;
  PeerInfo peer;
  peer.address = address_text(from);
  peer.is_local = from.family() == AF_UNIX;
  connections.emplace_front(shared, fd, std::move(peer));
  // TLS is for what travels; a local socket has nothing to hide from.
  if (tls && from.family() != AF_UNIX) connections.front().use_tls(net::accept_tls(*tls, fd));
  spawn(run_connection(connections.begin(), refused));
}

Task<> Server::Impl::run_connection(std::list<Connection>::iterator connection, bool refused) {
  if (refused)
    co_await connection->refuse();
  else
    co_await connection->run();
  connections.erase(connection);
  ended();
}

void Server::set_limits(const ServerLimits& limits) { impl_->shared.limits = limits; }

std::size_t Server::connections() const { return impl_->connections.size(); }

Task<bool> Server::drain(MonoTime deadline) {
  impl_->shared.draining = true;
  impl_->stop_listening();
  for (Connection& connection : impl_->connections) connection.close_if_idle();
  while (!impl_->idle())
    if (!co_await impl_->emptied.wait(deadline)) co_return impl_->idle();
  impl_->listeners.clear();
  co_return true;
}

void Server::close_all() {
  impl_->shared.draining = true;
  impl_->stop_listening();
  for (Connection& connection : impl_->connections) connection.close();
}

}  // namespace onceward::http
