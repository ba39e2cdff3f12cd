// Names of operations that Onceward keeps records of its own under. No request may use them, and views of
// the clients' records leave them out.
#pragma once

#include <string_view>

namespace onceward {

inline constexpr std::string_view reserved_prefix = "onceward.";

// "METHOD /path", the name of what matches no entry, is never one, whatever the method is called.
inline bool is_reserved_operation(std::string_view name) {
  return name.starts_with(reserved_prefix) && name.find(' ') == name.npos;
}

}  // namespace onceward
