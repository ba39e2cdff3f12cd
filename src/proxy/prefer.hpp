// `Prefer` (RFC 7240): whether and how long a client is willing to wait for an answer. Pure.
#pragma once

#include <optional>

#include "http/head.hpp"
#include "onceward/executor.hpp"

namespace onceward {

// `respond-async`: the client would rather be told where to ask than wait.
bool prefers_async(const http::HeaderList& headers);

// The first wait preference of the Prefer lines; a malformed one is as if it were not there.
std::optional<Duration> preferred_wait(const http::HeaderList& headers);

}  // namespace onceward
