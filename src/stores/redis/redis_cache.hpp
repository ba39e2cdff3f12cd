// Copies of final records in Redis, and wake-ups, beside a store that decides alone. Everything in it may
// be lost, evicted or late; it is then asked for elsewhere. Runs an I/O thread of its own.
#pragma once

#include <memory>
#include <string_view>

#include "core/outcome_cache.hpp"
#include "onceward/result.hpp"

namespace onceward::redis {

// The same URLs as the store's, but for `timeout`, which is 200ms unless given: whoever waits longer for a
// copy had better ask the authority. Waits a moment for the first connection; a server that cannot be reached
// is no error. Errc::invalid: the URL or a certificate cannot be used.
Result<std::unique_ptr<OutcomeCache>> open_redis_cache(std::string_view url);

}  // namespace onceward::redis
