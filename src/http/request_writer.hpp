// Builds the head of the request that goes to the upstream, into a reused buffer. Pure; used by the
// relay and by whoever sends a captured request.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "http/head.hpp"

namespace onceward::http {

struct ForwardOptions {
  std::string_view peer_address;                      // appended to X-Forwarded-For; empty: none
  bool tls = false;                                   // X-Forwarded-Proto: https
  std::span<const std::string_view> protected_names;  // never removed by a Connection header
  std::span<const std::string_view> drop;             // lines of these names are left out (ours replace them)
  std::string_view extra_lines;                       // "Name: value\r\n" lines, appended
  std::string_view base_path;                         // of the upstream's URL, put before the target
  std::string_view host;                              // replaces the client's Host; empty: as sent
  std::string_view fallback_host;                     // when the client sent none (HTTP/1.0)
  bool upgrade = false;                               // keep Upgrade and Connection: upgrade
};

// `body` is how the body will be framed to the upstream, which may differ from how it came.
void write_request_head(std::string& out, const RequestHead& request, Body body,
                        const ForwardOptions& options);

// A whole body as chunked framing has it: for content that keeps its transfer codings.
std::string as_chunks(std::string_view body);

}  // namespace onceward::http
