// What became of the items of a bulk request, and the one answer that tells it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/outcome.hpp"
#include "proxy/bulk_items.hpp"

namespace onceward {

enum class ItemState : std::uint8_t { succeeded, failed, retryable, unknown, expired };
std::string_view to_string(ItemState state);

struct ItemResult {
  ItemState state = ItemState::retryable;  // also of one that was never begun
  int status = 0;                          // of the upstream; 0: none came
  std::shared_ptr<const Response> response = {};
  std::string operation_id = {};  // empty: it has no record
  std::string_view code = {};     // of the problem, when it was not the upstream that answered
};

ItemResult item_result(const Outcome& outcome);
ItemResult expired_item();  // it may have happened; what became of it is no longer kept

struct BulkSummary {
  std::size_t total = 0;
  std::size_t succeeded = 0;
  std::size_t failed = 0;
  std::size_t retryable = 0;
  std::size_t unknown = 0;
  std::size_t expired = 0;
  // Nothing that a later attempt could tell differently.
  bool is_final() const { return retryable == 0 && unknown == 0; }
};
BulkSummary summarize(std::span<const ItemResult> results);

// Provably nothing of any of them left this process, and none has a record.
bool nothing_was_sent(std::span<const ItemResult> results);

// The fixed shape, in the order of the request. Without the items' bodies when they would make it larger than
// `bytes_max`: what became of each item is always told.
std::string bulk_answer(std::span<const BulkItem> items, std::span<const ItemResult> results,
                        std::size_t bytes_max);

}  // namespace onceward
