// tunnel: copies bytes between two streams, both ways, until both have ended. What was read past the
// heads goes first. Used after a 101 answer; runs on the streams' worker.
#pragma once

#include <string_view>

#include "base/task.hpp"
#include "net/stream.hpp"

namespace onceward::http {

struct TunnelEnd {
  net::Stream& stream;
  std::string_view buffered;  // already read from it
};

Task<> tunnel(TunnelEnd& client, TunnelEnd& upstream, Duration idle);

}  // namespace onceward::http
