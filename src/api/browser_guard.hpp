// What a browser could be tricked into: a page of somebody else's that reaches this listener under a name
// of its own (DNS rebinding), or from its own origin. Pure.
#pragma once

#include <string_view>

#include "http/head.hpp"

namespace onceward {

// An address, localhost, or the name that the listener was configured with. A name that an attacker can
// point at this machine is none of them. Empty (HTTP/1.0) passes: browsers always send one.
bool is_own_host(std::string_view host, std::string_view listen_host);

// No Origin, or the one of the very address that was asked.
bool is_own_origin(const http::RequestHead& request, bool tls);

}  // namespace onceward
