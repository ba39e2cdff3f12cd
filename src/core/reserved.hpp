// Names of operations that Onceward keeps records of its own under. No request may use them, and views of
// the clients' records leave them out.
#pragma once

#include <string_view>

namespace onceward {

inline constexpr std::string_view reserved_prefix = "onceward.";

inline bool is_reserved_operation(std::string_view name) { return name.starts_with(reserved_prefix); }

}  // namespace onceward
