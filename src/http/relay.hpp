// relay: passes one Exchange through to the upstream, streamed both ways, unbuffered. For requests that
// nothing guards: only a safe request without a body is ever sent a second time, and only when a reused
// connection turned out to be closed before any byte of an answer.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/task.hpp"
#include "http/exchange.hpp"
#include "http/server.hpp"
#include "http/upstream.hpp"

namespace onceward::http {

enum class RelayOutcome : std::uint8_t {
  done,
  upgraded,              // became a tunnel, which has ended
  client_gone,           // left, or sent a broken body
  upstream_unreachable,  // 502: nothing was sent
  upstream_timeout,      // 504, or cut when the answer had begun
  upstream_broken,       // 502, or cut when the answer had begun
};

struct RelayOptions {
  std::span<const std::string_view> protected_names;  // see ForwardOptions
  std::span<const std::string_view> drop_request;     // header names not passed on
  std::span<const std::string_view> drop_response;
  std::string_view extra_request_lines;
  std::string_view extra_response_lines;
  // Words 502 and 504 answers, and 400/408 for a client's broken body. Must be set; not per request.
  const std::function<PlainAnswer(int status, RelayOutcome)>* error_answer = nullptr;
  Duration tunnel_idle = std::chrono::hours(1);  // an upgraded connection that is silent for so long ends
};

struct RelayResult {
  int status = 0;  // what the client was told; 0 when nothing could be
  RelayOutcome outcome = RelayOutcome::done;
};

Task<RelayResult> relay(Exchange& exchange, Upstream& upstream, const RelayOptions& options);

}  // namespace onceward::http
