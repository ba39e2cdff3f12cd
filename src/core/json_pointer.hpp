// JSON pointers (RFC 6901) and PointerSet, the `ignore` and `include` lists of a policy compiled into
// one trie that is walked alongside a document. Built while configuring, then immutable and shared.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onceward/result.hpp"

namespace onceward {

// The unescaped reference tokens of a pointer; Errc::invalid when it is not one.
Result<std::vector<std::string>> pointer_tokens(std::string_view pointer);

// Appends "/" and the token with ~ and / escaped.
void append_pointer_token(std::string& pointer, std::string_view token);

class PointerSet {
 public:
  using Position = std::uint32_t;                  // a node of the trie
  static constexpr Position nowhere = 0xffffffff;  // no pointer of the set leads here or below

  PointerSet() = default;  // names nothing: everything counts
  static Result<PointerSet> compile(std::span<const std::string> ignore,
                                    std::span<const std::string> include);

  bool empty() const { return nodes_.empty(); }
  bool has_include() const { return has_include_; }
  Position root() const { return nodes_.empty() ? nowhere : 0; }
  Position member(Position at, std::string_view name) const {
    return at == nowhere ? nowhere : child(at, name);
  }
  Position element(Position at, std::size_t index) const;
  bool ignored(Position at) const { return at != nowhere && nodes_[at].ignored; }
  bool included(Position at) const { return at != nowhere && nodes_[at].included; }

 private:
  struct Node {
    std::vector<std::pair<std::string, Position>> children;
    bool ignored = false;
    bool included = false;
  };
  Position child(Position at, std::string_view name) const;
  Position insert(std::span<const std::string> tokens);

  std::vector<Node> nodes_;
  bool has_include_ = false;
};

}  // namespace onceward
