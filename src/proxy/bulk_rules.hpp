// BulkRules: how the request of an operation is taken apart into items, each sent as a request of its own.
// Compiled from the configuration with the operation it belongs to; immutable.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "core/policy.hpp"

namespace onceward {

// What records, metrics and logs call the items of an operation.
inline std::string item_operation(std::string_view operation) { return std::string(operation) + ".item"; }

struct BulkRules {
  std::string items;   // JSON pointer to the array
  std::string id;      // JSON pointer inside an item
  std::string method;  // of the request that is sent for an item
  std::string target;  // with {/pointer} into the item
  std::size_t parallel = 8;
  std::size_t items_max = 10'000;
  // Of the request as a whole. It has no effect of its own, its items' records guard theirs, so whoever finds
  // it interrupted may go on with it: unknown is no reason to hold it.
  std::shared_ptr<const Policy> whole;
  std::string item_name;
  std::size_t item_metrics_index = 0;
};

}  // namespace onceward
