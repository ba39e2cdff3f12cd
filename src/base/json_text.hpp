// JSON text of strings, for documents and log lines that are written rather than built.
#pragma once

#include <string>
#include <string_view>

namespace onceward {

// Appends `text` in quotes. Always valid JSON and UTF-8: control characters are escaped, bytes that are
// not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

// The number of bytes of the well-formed UTF-8 character at the start of `text`; 0 if there is none.
std::size_t utf8_length(std::string_view text);

}  // namespace onceward
