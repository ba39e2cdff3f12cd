// The business reference of a request: what its caller calls the thing it is about (an order number), so that
// operators can find the operation by it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "http/head.hpp"

namespace onceward {

struct ReferenceRule {
  bool is_header = false;
  std::string where;  // a header's name, or a JSON pointer into the body
};

// Empty when the request has none that could be kept: a reference helps to find, it never refuses.
std::string reference_of(const ReferenceRule& rule, const http::HeaderList& headers, std::string_view body);

}  // namespace onceward
