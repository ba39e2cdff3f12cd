// Canonical application/x-www-form-urlencoded: pairs decoded and sorted by name, the order within a
// name kept. `a` and `a=` stay different, because some frameworks tell them apart. Pure.
#pragma once

#include <string>
#include <string_view>

namespace onceward {

// Appends to `out`. False, with `out` as it was, when an escape is malformed: raw bytes then.
bool canonicalize_form(std::string_view body, std::string& out);

}  // namespace onceward
