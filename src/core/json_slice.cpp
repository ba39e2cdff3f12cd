#include "core/json_slice.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/json_pointer.hpp"
#include "core/json_tape.hpp"
#include "core/json_value.hpp"

namespace onceward {
namespace {

// Walks a text that is known to be valid JSON, so it only looks for where values end.
class Walk {
 public:
  explicit Walk(std::string_view text) : left_(text) { skip_space(); }

  char next() const { return left_.empty() ? '\0' : left_.front(); }
  void step() {
    left_.remove_prefix(1);
    skip_space();
  }
  // Takes one whole value off the front.
  std::string_view value() {
    const std::string_view from = left_;
    switch (next()) {
      case '"':
        skip_string();
        break;
      case '{':
      case '[':
        skip_container();
        break;
      default:
        left_.remove_prefix(std::min(left_.find_first_of(",]} \t\r\n"), left_.size()));
    }
    const std::string_view taken = from.substr(0, from.size() - left_.size());
    skip_space();
    return taken;
  }

 private:
  void skip_space() { left_.remove_prefix(std::min(left_.find_first_not_of(" \t\r\n"), left_.size())); }
  void skip_string() {
    std::size_t at = 1;
    while (left_[at] != '"') at += left_[at] == '\\' ? 2 : 1;
    left_.remove_prefix(at + 1);
  }
  void skip_container() {
    std::size_t depth = 0;
    do {
      const char c = left_.front();
      if (c == '"') {
        skip_string();
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      left_.remove_prefix(1);
    } while (depth != 0);
  }

  std::string_view left_;
};

std::optional<std::string_view> member(std::string_view object, std::string_view name) {
  Walk walk(object);
  for (walk.step(); walk.next() != '}';) {
    const Result<std::string> found = json_value_at(walk.value(), "");  // unescaped
    walk.step();                                                        // the colon
    const std::string_view value = walk.value();
    if (found && *found == name) return value;
    if (walk.next() == ',') walk.step();
  }
  return std::nullopt;
}

std::optional<std::string_view> element(std::string_view array, std::string_view token) {
  std::size_t wanted = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), wanted);
  const bool is_index = error == std::errc() && end == token.data() + token.size() &&
                        (token.size() == 1 || token.front() != '0');  // RFC 6901: no leading zeros
  if (!is_index) return std::nullopt;
  Walk walk(array);
  walk.step();
  for (std::size_t index = 0; walk.next() != ']'; ++index) {
    const std::string_view value = walk.value();
    if (index == wanted) return value;
    if (walk.next() == ',') walk.step();
  }
  return std::nullopt;
}

}  // namespace

Result<std::string_view> json_slice(std::string_view text, std::string_view pointer) {
  const auto tokens = pointer_tokens(pointer);
  if (!tokens) return tokens.error();
  JsonTape tape;
  if (!tape.parse(text)) return Error{Errc::invalid, "the text is not valid JSON"};
  std::string_view at = Walk(text).value();
  for (const std::string& token : *tokens) {
    std::optional<std::string_view> child;
    if (at.front() == '{') child = member(at, token);
    if (at.front() == '[') child = element(at, token);
    if (!child) return Error{Errc::not_found, "the JSON pointer leads nowhere"};
    at = *child;
  }
  return at;
}

Result<std::vector<std::string_view>> json_elements(std::string_view text) {
  JsonTape tape;
  if (!tape.parse(text) || tape.root().type != JsonType::array)
    return Error{Errc::invalid, "the text is not a JSON array"};
  std::vector<std::string_view> elements;
  elements.reserve(tape.root().child_count);
  Walk walk(text);
  walk.step();
  while (walk.next() != ']') {
    elements.push_back(walk.value());
    if (walk.next() == ',') walk.step();
  }
  return elements;
}

}  // namespace onceward
