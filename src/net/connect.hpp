// Connecting a socket without blocking: begun with a system call, finished (with TLS on top) on the
// stream that owns it. Between the two, whoever connects makes the stream, inside whatever object owns it.
#pragma once

#include "base/task.hpp"
#include "net/address.hpp"
#include "net/stream.hpp"
#include "onceward/result.hpp"

namespace onceward::net {

// A non-blocking descriptor whose connection has begun. Give it to a Stream at once.
Result<int> begin_connect(const SocketAddress& address);

// With a context: the handshake too; `host` is the name that the certificate must be for.
Task<Result<Done>> finish_connect(Stream& stream, SSL_CTX* tls, const std::string& host, bool verify,
                                  MonoTime deadline);

}  // namespace onceward::net
