// What an operation came to, and what its caller calls it, read from where services say such things. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "onceward/values.hpp"

namespace onceward {

inline constexpr std::size_t reference_bytes_max = 255;
inline constexpr std::size_t resource_type_bytes_max = 128;
inline constexpr std::size_t resource_id_bytes_max = 512;
inline constexpr std::size_t failure_code_bytes_max = 255;

// Whether a text may be kept and shown in lists: of that length, UTF-8, no control characters.
bool is_showable(std::string_view text, std::size_t bytes_max);

// `Onceward-Resource: type/id`; the id may have slashes of its own. False, with `out` as it was, when it is
// not that.
bool read_resource(std::string_view value, OperationResult& out);

// The last two segments of a Location's path, collection and id, as they are written there. False, with `out`
// as it was, when there are not two.
bool read_location(std::string_view value, OperationResult& out);

// Of a problem (RFC 9457): its `code`, else its `type` when that says anything. Empty: neither.
std::string failure_code_of_problem(std::string_view body);

}  // namespace onceward
