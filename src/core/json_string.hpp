// The inside of a JSON string: found, checked (RFC 8259, UTF-8 without surrogates) and unescaped. Pure.
#pragma once

#include <optional>
#include <string_view>

namespace onceward {

struct JsonString {
  std::string_view text;  // unescaped: a view of the source, or of `arena` when it had escapes
  const char* after;      // behind the closing quote
};

// `at` is behind the opening quote. Unescaped text goes to `arena`, which is moved past it and must
// have as many bytes as the source has left: unescaping never makes text longer.
std::optional<JsonString> read_json_string(const char* at, const char* end, char*& arena);

}  // namespace onceward
