// A structured-field Item that is a String (RFC 8941, 3.3.3), with its parameters checked and dropped.
// Pure; the value must already be without surrounding white space.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace onceward {

std::optional<std::string> parse_string_item(std::string_view value);

}  // namespace onceward
