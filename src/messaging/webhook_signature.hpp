// The signature of a webhook (standardwebhooks.com): a MAC over id, time and body, so that a receiver knows
// who sent it and can refuse what is old. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "onceward/result.hpp"

namespace onceward::messaging {

// "whsec_" and base64 stands for the decoded bytes, any other text for itself. Errc::invalid below 16 bytes.
Result<std::string> webhook_secret(std::string_view text);

// "v1,<base64>".
std::string webhook_signature(std::string_view secret, std::string_view id, std::int64_t unix_seconds,
                              std::string_view body);

}  // namespace onceward::messaging
