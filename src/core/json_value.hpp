// One value picked out of a JSON body by its pointer, for keys and facts that are derived from a body.
#pragma once

#include <string>
#include <string_view>

#include "onceward/result.hpp"

namespace onceward {

// A string unescaped, or a number as canonical text (100, 100.0 and 1e2 all give "100"; very large or
// small ones give "3e400"). Errc::invalid when the body or the pointer is malformed or the value is
// neither string nor number; Errc::not_found when the pointer leads nowhere.
Result<std::string> json_value_at(std::string_view body, std::string_view pointer);

}  // namespace onceward
