// JsonTape: a JSON text parsed, strictly and in one pass, into flat nodes whose memory is used again for
// the next text. Members are already sorted by name and known to be unique. Views point into the text
// and the tape; both must outlive their use. Not shared between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/json_number.hpp"

namespace onceward {

enum class JsonType : std::uint8_t { null, boolean_false, boolean_true, number, string, array, object };

struct JsonNode {
  std::string_view name;         // of the member, when the parent is an object
  std::string_view text;         // a string, or a number's digits
  std::uint64_t name_order = 0;  // the name's first 8 bytes, big-endian: decides most comparisons
  std::int64_t exponent = 0;     // number
  std::uint32_t first_child = 0;
  std::uint32_t child_count = 0;
  JsonType type = JsonType::null;
  bool negative = false;

  bool is_container() const { return type >= JsonType::array; }
  Decimal decimal() const { return {text, exponent, negative}; }
};

class JsonTape {
 public:
  // False when the text must count as raw bytes (see canonicalize_json).
  bool parse(std::string_view text);

  std::size_t node_count() const { return nodes_.size(); }
  const JsonNode& root() const { return nodes_.front(); }
  const JsonNode& node(std::uint32_t index) const { return nodes_[index]; }
  // Indices of a container's children: members by name, elements in order.
  std::span<const std::uint32_t> children(const JsonNode& node) const {
    return {children_.data() + node.first_child, node.child_count};
  }
  // Gives memory back after an unusually large text, so that one such request is not kept for ever.
  void shrink(std::size_t bytes_max);

 private:
  bool parse_value(std::size_t depth);
  bool parse_literal(std::string_view word, JsonType type);
  bool parse_string();
  bool parse_number();
  bool parse_array(std::size_t depth);
  bool parse_object(std::size_t depth);
  bool parse_member(std::size_t depth);
  bool close_container(std::uint32_t index, std::size_t pending_from);
  bool sort_members(std::span<std::uint32_t> members) const;
  bool before(std::uint32_t left, std::uint32_t right) const;
  void skip_space();
  bool take(char c);

  const char* at_ = nullptr;
  const char* end_ = nullptr;
  char* arena_ = nullptr;
  std::unique_ptr<char[]> arena_bytes_;
  std::size_t arena_size_ = 0;
  std::vector<JsonNode> nodes_;
  std::vector<std::uint32_t> children_;
  std::vector<std::uint32_t> pending_;  // children of the containers that are still open
};

}  // namespace onceward
