#include "core/json_pointer.hpp"

#include <algorithm>
#include <charconv>

namespace onceward {
namespace {

// False when a ~ is followed by neither 0 nor 1.
bool unescape_token(std::string_view token, std::string& out) {
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      out += token[i];
      continue;
    }
    const char code = i + 1 < token.size() ? token[i + 1] : '\0';
    if (code != '0' && code != '1') return false;
    out += code == '0' ? '~' : '/';
    ++i;
  }
  return true;
}

}  // namespace

Result<std::vector<std::string>> pointer_tokens(std::string_view pointer) {
  std::vector<std::string> tokens;
  while (!pointer.empty()) {
    if (pointer.front() != '/') return Error{Errc::invalid, "a JSON pointer is empty or begins with /"};
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    if (!unescape_token(pointer.substr(0, end), tokens.emplace_back()))
      return Error{Errc::invalid, "in a JSON pointer ~ is followed by 0 or 1"};
    pointer.remove_prefix(end);
  }
  return tokens;
}

void append_pointer_token(std::string& pointer, std::string_view token) {
  if (std::ranges::none_of(token, [](char c) { return c == '~' || c == '/'; })) {
    const std::size_t before = pointer.size();
    const std::size_t after = before + 1 + token.size();
    pointer.resize_and_overwrite(after, [&](char* text, std::size_t) {
      text[before] = '/';
      token.copy(text + before + 1, token.size());
      return after;
    });
    return;
  }
  pointer += '/';
  for (char c : token) {
    if (c == '~')
      pointer += "~0";
    else if (c == '/')
      pointer += "~1";
    else
      pointer += c;
  }
}

Result<PointerSet> PointerSet::compile(std::span<const std::string> ignore,
                                       std::span<const std::string> include) {
  PointerSet set;
  const auto add = [&set](std::span<const std::string> pointers, bool Node::* flag) -> Result<Done> {
    for (const std::string& pointer : pointers) {
      auto tokens = pointer_tokens(pointer);
      if (!tokens) return Error{Errc::invalid, tokens.error().message + ": " + pointer};
      set.nodes_[set.insert(*tokens)].*flag = true;
    }
    return Done{};
  };
  if (auto added = add(ignore, &Node::ignored); !added) return added.error();
  if (auto added = add(include, &Node::included); !added) return added.error();
  set.has_include_ = !include.empty();
  return set;
}

PointerSet::Position PointerSet::insert(std::span<const std::string> tokens) {
  if (nodes_.empty()) nodes_.emplace_back();
  Position at = 0;
  for (const std::string& token : tokens) {
    Position next = member(at, token);
    if (next == nowhere) {
      next = static_cast<Position>(nodes_.size());
      nodes_[at].children.emplace_back(token, next);
      nodes_.emplace_back();
    }
    at = next;
  }
  return at;
}

PointerSet::Position PointerSet::child(Position at, std::string_view name) const {
  for (const auto& [token, position] : nodes_[at].children)
    if (token == name) return position;
  return nowhere;
}

PointerSet::Position PointerSet::element(Position at, std::size_t index) const {
  if (at == nowhere || nodes_[at].children.empty()) return nowhere;
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, index).ptr;
  return member(at, {digits, end});
}

}  // namespace onceward
