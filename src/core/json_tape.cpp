#include "core/json_tape.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "core/json_canonical.hpp"
#include "core/json_string.hpp"

namespace onceward {
namespace {

constexpr std::size_t insertion_sort_max = 24;

// `readable` is how many bytes from the name's beginning may be read, whatever they are: one load and a
// mask instead of a copy of unpredictable length.
std::uint64_t first_bytes(std::string_view name, std::size_t readable) {
  std::uint64_t order = 0;
  if (readable < sizeof order) {
    std::memcpy(&order, name.data(), std::min(name.size(), sizeof order));
  } else {
    std::memcpy(&order, name.data(), sizeof order);
  }
  if constexpr (std::endian::native == std::endian::little) order = std::byteswap(order);
  if (name.size() >= sizeof order) return order;
  return order & ~(~std::uint64_t{0} >> (8 * name.size()));
}

}  // namespace

bool JsonTape::parse(std::string_view text) {
  if (text.size() > std::numeric_limits<std::uint32_t>::max()) return false;
  if (arena_size_ < text.size()) {
    arena_bytes_ = std::make_unique_for_overwrite<char[]>(text.size());
    arena_size_ = text.size();
  }
  nodes_.clear();
  children_.clear();
  pending_.clear();
  arena_ = arena_bytes_.get();
  at_ = text.data();
  end_ = at_ + text.size();
  skip_space();
  if (!parse_value(0)) return false;
  skip_space();
  return at_ == end_;
}

void JsonTape::shrink(std::size_t bytes_max) {
  const std::size_t bytes = arena_size_ + nodes_.capacity() * sizeof(JsonNode) +
                            (children_.capacity() + pending_.capacity()) * sizeof(std::uint32_t);
  if (bytes > bytes_max) *this = JsonTape();
}

// Appends one node and whatever is below it; the caller names it.
bool JsonTape::parse_value(std::size_t depth) {
  if (at_ == end_) return false;
  switch (*at_) {
    case '{':
      return parse_object(depth + 1);
    case '[':
      return parse_array(depth + 1);
    case '"':
      return parse_string();
    case 't':
      return parse_literal("true", JsonType::boolean_true);
    case 'f':
      return parse_literal("false", JsonType::boolean_false);
    case 'n':
      return parse_literal("null", JsonType::null);
    default:
      return parse_number();
  }
}

bool JsonTape::parse_literal(std::string_view word, JsonType type) {
  if (!std::string_view(at_, end_).starts_with(word)) return false;
  at_ += word.size();
  nodes_.emplace_back().type = type;
  return true;
}

bool JsonTape::parse_string() {
  const auto string = read_json_string(at_ + 1, end_, arena_);
  if (!string) return false;
  at_ = string->after;
  JsonNode& node = nodes_.emplace_back();
  node.type = JsonType::string;
  node.text = string->text;
  return true;
}

bool JsonTape::parse_number() {
  const auto number = read_json_number(at_, end_, arena_);
  if (!number) return false;
  at_ = number->after;
  JsonNode& node = nodes_.emplace_back();
  node.type = JsonType::number;
  node.text = number->value.digits;
  node.exponent = number->value.exponent;
  node.negative = number->value.negative;
  return true;
}

bool JsonTape::parse_array(std::size_t depth) {
  if (depth > json_depth_max) return false;
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  const std::size_t pending_from = pending_.size();
  nodes_.emplace_back().type = JsonType::array;
  ++at_;
  skip_space();
  if (take(']')) return close_container(index, pending_from);
  for (;;) {
    pending_.push_back(static_cast<std::uint32_t>(nodes_.size()));
    if (!parse_value(depth)) return false;
    skip_space();
    if (take(']')) return close_container(index, pending_from);
    if (!take(',')) return false;
    skip_space();
  }
}

bool JsonTape::parse_object(std::size_t depth) {
  if (depth > json_depth_max) return false;
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  const std::size_t pending_from = pending_.size();
  nodes_.emplace_back().type = JsonType::object;
  ++at_;
  skip_space();
  if (take('}')) return close_container(index, pending_from);
  for (;;) {
    if (!parse_member(depth)) return false;
    skip_space();
    if (take('}')) return close_container(index, pending_from);
    if (!take(',')) return false;
    skip_space();
  }
}

bool JsonTape::parse_member(std::size_t depth) {
  if (!take('"')) return false;
  const auto name = read_json_string(at_, end_, arena_);
  if (!name) return false;
  const bool in_source = name->text.data() + name->text.size() + 1 == name->after;
  const std::size_t readable =
      in_source ? static_cast<std::size_t>(end_ - name->text.data()) : name->text.size();
  at_ = name->after;
  skip_space();
  if (!take(':')) return false;
  skip_space();
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  pending_.push_back(index);
  if (!parse_value(depth)) return false;
  nodes_[index].name = name->text;
  nodes_[index].name_order = first_bytes(name->text, readable);
  return true;
}

bool JsonTape::close_container(std::uint32_t index, std::size_t pending_from) {
  JsonNode& node = nodes_[index];
  node.first_child = static_cast<std::uint32_t>(children_.size());
  node.child_count = static_cast<std::uint32_t>(pending_.size() - pending_from);
  children_.insert(children_.end(), pending_.begin() + static_cast<std::ptrdiff_t>(pending_from),
                   pending_.end());
  pending_.resize(pending_from);
  if (node.type == JsonType::array) return true;
  return sort_members({children_.data() + node.first_child, node.child_count});
}

// False when two members have the same name: parsers disagree about which one counts.
bool JsonTape::sort_members(std::span<std::uint32_t> members) const {
  if (members.size() <= insertion_sort_max) {
    for (std::size_t i = 1; i < members.size(); ++i)
      for (std::size_t j = i; j > 0 && before(members[j], members[j - 1]); --j)
        std::swap(members[j], members[j - 1]);
  } else {
    std::ranges::sort(members, [this](auto left, auto right) { return before(left, right); });
  }
  for (std::size_t i = 1; i < members.size(); ++i)
    if (!before(members[i - 1], members[i])) return false;
  return true;
}

bool JsonTape::before(std::uint32_t left, std::uint32_t right) const {
  const JsonNode& a = nodes_[left];
  const JsonNode& b = nodes_[right];
  if (a.name_order != b.name_order) return a.name_order < b.name_order;
  return a.name < b.name;
}

void JsonTape::skip_space() {
  while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
}

bool JsonTape::take(char c) {
  if (at_ == end_ || *at_ != c) return false;
  ++at_;
  return true;
}

}  // namespace onceward
