// What the kernel is told of every connection, accepted or made.
#pragma once

#include "net/address.hpp"

namespace onceward::net {

bool is_loopback(const SocketAddress& address);

// Small messages are sent at once; and within the machine, where there is no network that could be congested,
// nothing is spent on finding out how much it takes (some systems' default measures and paces every message).
void set_connection_options(int fd, const SocketAddress& peer);

}  // namespace onceward::net
