// The events that a completion brings along: [{type, data}, …], `data` any JSON value, or `body` (base64)
// with its `content_type`. Pure.
#pragma once

#include <memory>

#include "api/json_body.hpp"
#include "onceward/values.hpp"

namespace onceward {

// Null when there are none, or when one is wrong; then the body says which.
std::shared_ptr<const std::vector<Emission>> read_emissions(JsonObject& parent, std::size_t bytes_max);

}  // namespace onceward
