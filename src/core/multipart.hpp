// Canonical multipart/form-data: the parts, not the boundary, which clients make anew for every
// attempt. Per part the header lines (names in lower case, sorted) and the body. Pure.
#pragma once

#include <string>
#include <string_view>

namespace onceward {

// Appends to `out`. False, with `out` as it was, when anything is malformed or not worth guessing
// about (a preamble, an epilogue, folded headers): raw bytes then.
bool canonicalize_multipart(std::string_view body, std::string_view boundary, std::string& out);

}  // namespace onceward
