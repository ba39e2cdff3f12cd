// The items of a bulk request: taken out of its body, each with its id and where it goes. Pure.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "ops/problem.hpp"
#include "proxy/bulk_rules.hpp"

namespace onceward {

inline constexpr std::size_t item_id_bytes_max = 255;

struct BulkItem {
  std::string_view json;     // as written, a view into the body
  std::string_view id_json;  // the id as written, likewise
  std::string id;            // a string unescaped, or a number as canonical text
  std::string target;
};

struct BulkRefused {
  ProblemCode code = ProblemCode::invalid_bulk_request;
  std::string detail;
};

// All of them or none: a request with one bad item sends nothing.
std::expected<std::vector<BulkItem>, BulkRefused> bulk_items(std::string_view body, const BulkRules& rules);

// The key of one item: a hash, because key and id together may be longer than a key and hold any character.
std::string item_key(std::string_view bulk_key, std::string_view item_id);

}  // namespace onceward
