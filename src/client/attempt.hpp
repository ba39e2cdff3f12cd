// One attempt: one request on one connection, and exactly what became of it. On the client's worker.
#pragma once

#include <string>

#include "base/task.hpp"
#include "client/wire_request.hpp"
#include "http/upstream.hpp"
#include "onceward/client.hpp"

namespace onceward::client {

struct Attempt {
  enum class Kind : std::uint8_t {
    not_sent,  // provably no byte left
    lost,      // it may have arrived; no whole answer came back
    answered,
  };
  Kind kind = Kind::not_sent;
  Answer answer = {};
  std::string reason = {};  // of no answer
};

// `lease` is the caller's, so that it can be closed from outside while this waits; until there is one,
// `stopped` says that nothing is to be sent any more.
Task<Attempt> make_attempt(http::Upstream& upstream, const WireRequest& request, std::size_t body_bytes_max,
                           http::Lease& lease, MonoTime deadline, const bool* stopped = nullptr);

}  // namespace onceward::client
