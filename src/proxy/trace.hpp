// W3C trace context: passed on when the client sent a valid one, begun anew otherwise. Pure.
#pragma once

#include "http/head.hpp"

namespace onceward {

// Exactly one traceparent line, and it is valid.
bool has_trace(const http::HeaderList& headers);

}  // namespace onceward
