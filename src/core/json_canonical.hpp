// Canonical JSON: two texts get the same canonical bytes exactly when they are the same value under
// CONTRACT 3 (member order, white space and escapes do not matter, numbers are exact decimals). In the
// same pass it lists the leaves, so that a mismatch can be named. Scratch memory is kept per thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_pointer.hpp"
#include "core/siphash.hpp"
#include "onceward/values.hpp"

namespace onceward {

inline constexpr std::size_t json_depth_max = 128;
inline constexpr std::size_t leaves_max = 64;
inline constexpr std::size_t leaf_pointer_bytes_max = 4096;

// Appends the canonical bytes of `body` to `out` and sets `leaves`, sorted by pointer (empty when there
// are more than the limits above). False, with `out` as it was, when the body must count as raw bytes:
// not RFC 8259 JSON, invalid UTF-8, lone surrogates, duplicate members, nested deeper than the limit,
// or an exponent beyond what can be compared exactly.
bool canonicalize_json(std::string_view body, const PointerSet& pointers, const SipKey& leaf_key,
                       std::string& out, std::vector<Leaf>& leaves);

}  // namespace onceward
