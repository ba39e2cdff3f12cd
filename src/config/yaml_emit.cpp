// Writing a YamlNode: as YAML that reads back to the same tree, and as JSON.
#include <algorithm>

#include "base/json_text.hpp"
#include "config/yaml_node.hpp"

namespace onceward::config {
namespace {

using Kind = YamlNode::Kind;

// Whether other YAML readers would take the bare word for something else than a string.
bool looks_like_a_literal(std::string_view text) {
  constexpr std::string_view words[] = {"true", "false", "yes", "no", "on", "off", "null", "y", "n", "~"};
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (std::ranges::find(words, lower) != std::end(words)) return true;
  const auto only = [&lower](std::string_view characters) {
    return lower.find_first_not_of(characters) == std::string::npos;
  };
  if (lower.starts_with("0x") || lower.starts_with("0o")) return true;
  return only("0123456789:") || (only("0123456789+-._e") && std::ranges::count(lower, '.') <= 1);
}

bool plain_is_safe(std::string_view text) {
  constexpr std::string_view first = "/_.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr std::string_view other =
      "/_.:+@%=~$*- 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  if (text.empty() || text.ends_with(' ') || text.ends_with(':')) return false;
  if (first.find(text[0]) == std::string_view::npos) return false;
  if (text.find_first_not_of(other) != std::string_view::npos) return false;
  if (text.find(": ") != std::string_view::npos || text.find("  ") != std::string_view::npos) return false;
  return !looks_like_a_literal(text);
}

void append_scalar(std::string& out, const YamlNode& node) {
  if (!node.quoted || plain_is_safe(node.text)) {
    out += node.text;
  } else {
    append_json_string(out, node.text);  // YAML's double-quoted style understands JSON's escapes
  }
}

bool is_block(const YamlNode& node) {
  if (node.kind == Kind::map) return !node.entries.empty();
  return node.kind == Kind::list &&
         std::ranges::any_of(node.items, [](const YamlNode& item) { return item.kind == Kind::map; });
}

void append_flow(std::string& out, const YamlNode& node) {
  if (node.kind == Kind::map) {
    out += "{}";
    return;
  }
  if (node.kind != Kind::list) {
    append_scalar(out, node);
    return;
  }
  out += '[';
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    if (i != 0) out += ", ";
    append_flow(out, node.items[i]);
  }
  out += ']';
}

void append_block(std::string& out, const YamlNode& node, std::size_t indent, bool indent_first);

void append_entries(std::string& out, const YamlNode& map, std::size_t indent, bool indent_first) {
  for (const YamlEntry& entry : map.entries) {
    if (indent_first) out.append(indent, ' ');
    indent_first = true;
    append_scalar(out, YamlNode::string(entry.key));
    out += ':';
    if (is_block(entry.value)) {
      out += '\n';
      append_block(out, entry.value, indent + 2, true);
    } else {
      out += ' ';
      append_flow(out, entry.value);
      out += '\n';
    }
  }
}

void append_block(std::string& out, const YamlNode& node, std::size_t indent, bool indent_first) {
  if (node.kind == Kind::map) {
    append_entries(out, node, indent, indent_first);
    return;
  }
  for (const YamlNode& item : node.items) {
    out.append(indent, ' ');
    out += "- ";
    append_block(out, item, indent + 2, false);
  }
}

void append_json(std::string& out, const YamlNode& node) {
  switch (node.kind) {
    case Kind::null:
      out += "null";
      return;
    case Kind::scalar:
      if (node.quoted) {
        append_json_string(out, node.text);
      } else {
        out += node.text;
      }
      return;
    case Kind::list:
      out += '[';
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        if (i != 0) out += ',';
        append_json(out, node.items[i]);
      }
      out += ']';
      return;
    case Kind::map:
      out += '{';
      for (std::size_t i = 0; i < node.entries.size(); ++i) {
        if (i != 0) out += ',';
        append_json_string(out, node.entries[i].key);
        out += ':';
        append_json(out, node.entries[i].value);
      }
      out += '}';
      return;
  }
}

}  // namespace

std::string to_yaml(const YamlNode& node) {
  std::string out;
  append_block(out, node, 0, true);
  return out;
}

std::string to_json(const YamlNode& node) {
  std::string out;
  append_json(out, node);
  return out;
}

}  // namespace onceward::config
