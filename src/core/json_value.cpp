#include "core/json_value.hpp"

#include <charconv>

#include "core/json_pointer.hpp"
#include "core/json_tape.hpp"

namespace onceward {
namespace {

const JsonNode* find_child(const JsonTape& tape, const JsonNode& node, std::string_view token) {
  const auto children = tape.children(node);
  if (node.type == JsonType::object) {
    for (std::uint32_t index : children)
      if (tape.node(index).name == token) return &tape.node(index);
    return nullptr;
  }
  std::size_t position = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), position);
  const bool is_index = error == std::errc() && end == token.data() + token.size() &&
                        (token.size() == 1 || token.front() != '0');  // RFC 6901: no leading zeros
  return is_index && position < children.size() ? &tape.node(children[position]) : nullptr;
}

}  // namespace

Result<std::string> json_value_at(std::string_view body, std::string_view pointer) {
  const auto tokens = pointer_tokens(pointer);
  if (!tokens) return tokens.error();
  JsonTape tape;
  if (!tape.parse(body)) return Error{Errc::invalid, "the body is not valid JSON"};
  const JsonNode* node = &tape.root();
  for (const std::string& token : *tokens) {
    node = node->is_container() ? find_child(tape, *node, token) : nullptr;
    if (!node) return Error{Errc::not_found, "the JSON pointer leads nowhere"};
  }
  if (node->type == JsonType::string) return std::string(node->text);
  if (node->type == JsonType::number) return to_text(node->decimal());
  return Error{Errc::invalid, "the value is neither a string nor a number"};
}

}  // namespace onceward
