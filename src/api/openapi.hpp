// The description of the API for machines: OpenAPI 3.0, as JSON text.
#pragma once

#include <string_view>

namespace onceward {

std::string_view openapi_json();

}  // namespace onceward
