#include "config/yaml_node.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "base/json_text.hpp"

namespace onceward::config {
namespace {

// Aliases are copied into the tree; nested ones could make it grow without end.
constexpr std::size_t nodes_max = 100'000;

// yaml-cpp ends a plain scalar in [] or {} at any '?', although only one that begins a token means a key:
// `{from: amqp://host?queue=orders}` would not parse. Those in the middle of a word are hidden from it as
// a byte that no YAML may contain, which keeps every column, and shown again in the tree.
constexpr char hidden_mark = '\x01';

std::string hide_marks(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 1; i < out.size(); ++i) {
    constexpr std::string_view token_starts_after = " \t\r\n,[]{}:-?";
    if (out[i] == '?' && token_starts_after.find(out[i - 1]) == std::string_view::npos) out[i] = hidden_mark;
  }
  return out;
}

std::string show_marks(std::string text) {
  std::ranges::replace(text, hidden_mark, '?');
  return text;
}

YamlPlace place_of(const YAML::Mark& mark) {
  return {.origin = {}, .line = mark.line + 1, .column = mark.column + 1};
}

// yaml-cpp lets bytes through that are not UTF-8; then nothing printed would read back the same.
std::size_t first_foreign_byte(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    const bool control = static_cast<unsigned char>(text[at]) < ' ' || text[at] == '\x7f';
    const bool blank = text[at] == '\n' || text[at] == '\r' || text[at] == '\t';
    if (length == 0 || (control && !blank)) return at;
    at += length;
  }
  return std::string_view::npos;
}

YamlPlace end_of(std::string_view text) {
  const auto lines = std::ranges::count(text, '\n');
  const std::size_t line_start = text.rfind('\n') + 1;  // npos + 1 is 0
  return {.line = static_cast<int>(lines) + 1, .column = static_cast<int>(text.size() - line_start) + 1};
}

class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::vector<YamlError>& errors) : errors_(errors) {}

  std::optional<YamlNode> take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    finish({.kind = YamlNode::Kind::null, .place = place_of(mark)}, mark, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw YAML::ParserException(mark, "an alias inside what it stands for");
    count(size_of(found->second), mark);
    add(YamlNode(found->second), mark);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    finish({.kind = YamlNode::Kind::scalar,
            .place = place_of(mark),
            .text = show_marks(value),
            .quoted = tag != "?"},
           mark, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::list, mark, tag, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::map, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    YamlNode node;
    YAML::Mark mark;
    YAML::anchor_t anchor;
    std::optional<std::pair<std::string, YamlPlace>> key = std::nullopt;
  };

  static void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    throw YAML::ParserException(mark, "tags are not supported");
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    check_tag(mark, tag);
    if (!stack_.empty() && stack_.back().node.kind == YamlNode::Kind::map && !stack_.back().key)
      throw YAML::ParserException(mark, "a key must be plain text");
    stack_.push_back({.node = {.kind = kind, .place = place_of(mark)}, .mark = mark, .anchor = anchor});
  }

  void close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    finish(std::move(frame.node), frame.mark, frame.anchor);
  }

  void finish(YamlNode node, const YAML::Mark& mark, YAML::anchor_t anchor) {
    count(1, mark);
    if (anchor != YAML::NullAnchor) anchors_[anchor] = node;
    add(std::move(node), mark);
  }

  void count(std::size_t nodes, const YAML::Mark& mark) {
    nodes_ += nodes;
    if (nodes_ > nodes_max) throw YAML::ParserException(mark, "the document is too large");
  }

  static std::size_t size_of(const YamlNode& node) {
    std::size_t total = 1;
    for (const YamlNode& item : node.items) total += size_of(item);
    for (const YamlEntry& entry : node.entries) total += size_of(entry.value);
    return total;
  }

  void add(YamlNode node, const YAML::Mark& mark) {
    if (stack_.empty()) {
      root_ = std::move(node);
    } else if (Frame& top = stack_.back(); top.node.kind == YamlNode::Kind::list) {
      top.node.items.push_back(std::move(node));
    } else if (!top.key) {
      if (node.kind != YamlNode::Kind::scalar) throw YAML::ParserException(mark, "a key must be plain text");
      top.key.emplace(std::move(node.text), std::move(node.place));
    } else {
      add_entry(top, std::move(node));
    }
  }

  void add_entry(Frame& top, YamlNode node) {
    auto [key, place] = *std::exchange(top.key, std::nullopt);
    if (const YamlEntry* earlier = top.node.find(key)) {
      errors_.push_back(
          {place, "duplicate key '" + key + "', first set in line " + std::to_string(earlier->place.line)});
      return;
    }
    top.node.entries.push_back({std::move(key), std::move(place), std::move(node)});
  }

  std::vector<YamlError>& errors_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, YamlNode> anchors_;
  std::optional<YamlNode> root_;
  std::size_t nodes_ = 0;
};

}  // namespace

const YamlEntry* YamlNode::find(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &YamlEntry::key);
  return found == entries.end() ? nullptr : &*found;
}

YamlEntry* YamlNode::find(std::string_view key) {
  return const_cast<YamlEntry*>(std::as_const(*this).find(key));
}

YamlNode parse_yaml(std::string_view text, std::vector<YamlError>& errors) {
  YamlNode root{.kind = YamlNode::Kind::map, .place = {.origin = {}, .line = 1, .column = 1}};
  if (const std::size_t at = first_foreign_byte(text); at != std::string_view::npos) {
    errors.push_back({end_of(text.substr(0, at)), "a control character, or a byte that is not UTF-8"});
    return root;
  }
  try {
    std::istringstream stream{hide_marks(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(errors);
    if (!parser.HandleNextDocument(builder)) return root;
    std::optional<YamlNode> document = builder.take();
    if (document && document->kind != YamlNode::Kind::null) root = *std::move(document);
    TreeBuilder rest(errors);
    if (parser.HandleNextDocument(rest))
      errors.push_back({root.place, "the file holds more than one document"});
  } catch (const YAML::Exception& error) {
    YamlPlace place = place_of(error.mark);
    if (error.msg.starts_with("end of ")) place = end_of(text);  // something was still open; it has no mark
    errors.push_back({place, error.msg});
  }
  return root;
}

}  // namespace onceward::config
