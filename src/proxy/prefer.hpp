// What a client says about a request besides the request: `Prefer` (RFC 7240), whether and how long it is
// willing to wait for an answer, and `Onceward-Confirm`. Pure.
#pragma once

#include <optional>

#include "http/head.hpp"
#include "onceward/executor.hpp"

namespace onceward {

// `respond-async`: the client would rather be told where to ask than wait.
bool prefers_async(const http::HeaderList& headers);

// The first wait preference of the Prefer lines; a malformed one is as if it were not there.
std::optional<Duration> preferred_wait(const http::HeaderList& headers);

// `Onceward-Confirm: distinct`: whatever it is like, it is meant as another one (suspect).
bool is_confirmed(const http::HeaderList& headers);

}  // namespace onceward
