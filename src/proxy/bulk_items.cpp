#include "proxy/bulk_items.hpp"

#include <unordered_set>

#include "base/hex.hpp"
#include "base/sha256.hpp"
#include "core/encode.hpp"
#include "core/json_slice.hpp"
#include "core/json_value.hpp"
#include "core/probe_target.hpp"

namespace onceward {
namespace {

std::unexpected<BulkRefused> refused(std::string detail) {
  return std::unexpected(BulkRefused{ProblemCode::invalid_bulk_request, std::move(detail)});
}

std::string at(std::size_t index) { return "Item " + std::to_string(index); }

std::expected<BulkItem, BulkRefused> read_item(std::string_view json, std::size_t index,
                                               const BulkRules& rules) {
  BulkItem item;
  item.json = json;
  const Result<std::string> id = json_value_at(json, rules.id);
  if (!id || id->empty() || id->size() > item_id_bytes_max)
    return refused(at(index) + " has no id at " + rules.id + ": a number, or a string of 1 to 255 bytes.");
  item.id = *id;
  item.id_json = *json_slice(json, rules.id);
  const Result<std::string> target = fill_in_request(rules.target, {.tenant = {}, .key = {}, .body = json});
  if (!target) return refused(at(index) + " lacks a value that its request needs.");
  item.target = *target;
  return item;
}

}  // namespace

std::expected<std::vector<BulkItem>, BulkRefused> bulk_items(std::string_view body, const BulkRules& rules) {
  const Result<std::string_view> list = json_slice(body, rules.items);
  if (!list && list.error().code == Errc::invalid) return refused("The body is not JSON.");
  if (!list) return refused("The body has nothing at " + rules.items + ".");
  const Result<std::vector<std::string_view>> elements = json_elements(*list);
  if (!elements) return refused("The body has no list at " + rules.items + ".");
  if (elements->size() > rules.items_max) {
    return std::unexpected(BulkRefused{
        ProblemCode::request_too_large,
        "The request has more than " + std::to_string(rules.items_max) + " items. Nothing was sent."});
  }
  std::vector<BulkItem> items;
  items.reserve(elements->size());
  std::unordered_set<std::string_view> ids;  // into `items`, which does not grow beyond what is reserved
  for (std::size_t index = 0; index < elements->size(); ++index) {
    std::expected<BulkItem, BulkRefused> item = read_item((*elements)[index], index, rules);
    if (!item) return std::unexpected(std::move(item.error()));
    items.push_back(std::move(*item));
    if (!ids.insert(items.back().id).second) {
      return std::unexpected(
          BulkRefused{ProblemCode::duplicate_bulk_item,
                      at(index) + " has the same id as an earlier item. Nothing was sent."});
    }
  }
  return items;
}

std::string item_key(std::string_view bulk_key, std::string_view item_id) {
  std::string parts = "onceward item 1\n";
  append_part(parts, bulk_key);
  append_part(parts, item_id);
  return to_hex(sha256(parts));
}

}  // namespace onceward
