// The leaves of a request as one bytea: per leaf the pointer's length (4 bytes), the pointer, the digest
// (8 bytes), big-endian. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onceward/values.hpp"

namespace onceward::postgres {

std::string encode_leaves(const std::vector<Leaf>& leaves);
std::optional<std::vector<Leaf>> decode_leaves(std::string_view bytes);  // nothing: damaged

}  // namespace onceward::postgres
