// One value of a JSON text, exactly as it is written there: its bytes, found by its pointer. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "onceward/result.hpp"

namespace onceward {

// A view into `text`. Errc::invalid when the text or the pointer is malformed; Errc::not_found when the
// pointer leads nowhere. An empty pointer is the whole text without the white space around it.
Result<std::string_view> json_slice(std::string_view text, std::string_view pointer);

// The elements of an array, in order, each a view into `text`. Errc::invalid when the text is no JSON array.
Result<std::vector<std::string_view>> json_elements(std::string_view text);

}  // namespace onceward
