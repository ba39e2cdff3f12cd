// YamlNode: a YAML document as a plain tree that remembers where each piece stood. Scalars stay text:
// yaml-cpp would read `010` as 8 and `yes` as true, so their meaning is decided by the schema alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace onceward::config {

struct YamlPlace {
  std::string origin = {};  // the variable or flag that set it; empty: the file
  int line = 0;             // from 1
  int column = 0;
};

// A template so that it is made only once the node, which holds entries, is a complete type.
template <class Node>
struct BasicYamlEntry {
  std::string key;
  YamlPlace place;  // of the key
  Node value;
};

struct YamlNode;
using YamlEntry = BasicYamlEntry<YamlNode>;

struct YamlNode {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  YamlPlace place = {};
  std::string text = {};  // of a scalar
  bool quoted = false;    // read: written in quotes, hence a string. To be written: a string
  std::vector<YamlNode> items = {};
  std::vector<YamlEntry> entries = {};

  static YamlNode string(std::string_view text) {
    return {.kind = Kind::scalar, .text = std::string(text), .quoted = true};
  }
  static YamlNode literal(std::string_view text) { return {.kind = Kind::scalar, .text = std::string(text)}; }

  const YamlEntry* find(std::string_view key) const;  // the first; null when there is none
  YamlEntry* find(std::string_view key);
};

struct YamlError {
  YamlPlace place;
  std::string message;
};

// The one document in `text`; an empty one is an empty map. Duplicate keys are reported and their first
// value kept; bad syntax ends the reading.
YamlNode parse_yaml(std::string_view text, std::vector<YamlError>& errors);

std::string to_yaml(const YamlNode& node);
std::string to_json(const YamlNode& node);

}  // namespace onceward::config
