#include "net/connect.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "net/socket_options.hpp"

namespace onceward::net {
namespace {

Error failure(std::string why) { return {Errc::unavailable, std::move(why)}; }

int connect_error(int fd) {
  int error = 0;
  socklen_t bytes = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 ? error : errno;
}

}  // namespace

Result<int> begin_connect(const SocketAddress& address) {
  const int fd = ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return failure(std::strerror(errno));
  set_connection_options(fd, address);
  if (::connect(fd, address.get(), address.bytes) == 0 || errno == EINPROGRESS) return fd;
  const Error error = failure(std::strerror(errno));
  ::close(fd);
  return error;
}

Task<Result<Done>> finish_connect(Stream& stream, SSL_CTX* tls, const std::string& host, bool verify,
                                  MonoTime deadline) {
  if (co_await stream.writable(deadline) != IoStatus::ok) co_return failure("no connection in time");
  if (const int error = connect_error(stream.fd())) co_return failure(std::strerror(error));
  if (tls) {
    stream.use_tls(connect_tls(*tls, stream.fd(), host, verify));
    if (!co_await stream.handshake(deadline))
      co_return failure("the TLS handshake failed: " + tls_error_text());
  }
  co_return Done{};
}

}  // namespace onceward::net
