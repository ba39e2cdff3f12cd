// Base64 (RFC 4648): the standard alphabet with padding for bodies, the URL-safe one without for tokens
// and cursors. Strict: one text per value. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace onceward {

std::string to_base64(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);

std::string to_base64url(std::string_view bytes);
std::optional<std::string> from_base64url(std::string_view text);

}  // namespace onceward
