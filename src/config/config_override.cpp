#include "config/config_override.hpp"

#include <algorithm>
#include <map>

#include "base/json_text.hpp"
#include "config/config_schema.hpp"
#include "config/config_spelling.hpp"

namespace onceward::config {
namespace {

constexpr std::string_view prefix = "ONCEWARD_";
// Read elsewhere: the token of the operators' commands, the failpoints of test builds, the folder of `call`.
constexpr std::string_view reserved[] = {"ONCEWARD_TOKEN", "ONCEWARD_FAILPOINT", "ONCEWARD_INTENTS"};

struct Step {
  std::string name;
  std::string shorthand;  // what a bare value in this section's place means
};

struct SettingPath {
  std::vector<Step> sections;
  std::string name;
  bool list = false;
};

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// Collects the variable name of every value and simple list. What is inside a list of sections
// (operations, consumers) has no stable name and stays with the file.
class NameCollector : public Fields {
 public:
  std::map<std::string, SettingPath, std::less<>> take() { return std::move(paths_); }

  void setting(std::string_view name, const Setting&) override { add(name, false); }
  void list(std::string_view name, const ListSetting&) override { add(name, true); }
  void section(std::string_view name, const Section& section) override {
    section.create();
    sections_.push_back({std::string(name), std::string(section.shorthand)});
    section.describe(*this);
    if (!section.shorthand.empty()) paths_[variable("")] = {sections_, std::string(section.shorthand), false};
    sections_.pop_back();
  }
  void sections(std::string_view, const SectionList&) override {}
  void rule(std::initializer_list<std::string_view>, const std::function<std::string()>&) override {}

 private:
  std::string variable(std::string_view name) const {
    std::string text;
    for (const Step& step : sections_) text += (text.empty() ? "" : "_") + step.name;
    if (!name.empty()) text += (text.empty() ? "" : "_") + std::string(name);
    std::ranges::transform(text, text.begin(), upper);
    return std::string(prefix) + text;
  }
  void add(std::string_view name, bool list) {
    paths_[variable(name)] = {sections_, std::string(name), list};
  }

  std::vector<Step> sections_;
  std::map<std::string, SettingPath, std::less<>> paths_;
};

std::map<std::string, SettingPath, std::less<>> collect_names() {
  Config scratch;
  NameCollector collector;
  describe_config(collector, scratch);
  return collector.take();
}

YamlNode scalar_node(std::string_view text, const YamlPlace& place) {
  return {.kind = YamlNode::Kind::scalar, .place = place, .text = std::string(text)};
}

YamlNode value_node(std::string_view text, bool list, const YamlPlace& place) {
  if (!list) return scalar_node(text, place);
  YamlNode node{.kind = YamlNode::Kind::list, .place = place};
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view item = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    node.items.push_back(scalar_node(item, place));
  }
  return node;
}

YamlEntry& entry_of(YamlNode& map, const std::string& key, const YamlPlace& place) {
  if (YamlEntry* found = map.find(key)) return *found;
  return map.entries.emplace_back(key, place, YamlNode{});
}

// The section's map, made when absent. A bare value becomes the entry it stands for; anything else that
// is no map is left to the reader, which will report it.
YamlNode* open_section(YamlNode& parent, const Step& step, const YamlPlace& place) {
  YamlEntry& entry = entry_of(parent, step.name, place);
  YamlNode& node = entry.value;
  if (node.kind == YamlNode::Kind::null) node = {.kind = YamlNode::Kind::map, .place = place};
  if (node.kind == YamlNode::Kind::scalar && !step.shorthand.empty()) {
    YamlNode map{.kind = YamlNode::Kind::map, .place = node.place};
    map.entries.push_back({step.shorthand, node.place, std::move(node)});
    node = std::move(map);
  }
  return node.kind == YamlNode::Kind::map ? &node : nullptr;
}

bool is_text(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0 || static_cast<unsigned char>(text[0]) < ' ') return false;
    text.remove_prefix(length);
  }
  return true;
}

void apply(YamlNode& root, const SettingPath& path, std::string_view text, const YamlPlace& place) {
  YamlNode* node = &root;
  for (const Step& step : path.sections) {
    node = open_section(*node, step, place);
    if (node == nullptr) return;
  }
  YamlEntry& entry = entry_of(*node, path.name, place);
  entry.place = place;
  entry.value = value_node(text, path.list, place);
}

std::string variable_of_flag(std::string_view flag) {
  std::string name(prefix);
  for (char c : flag.substr(2)) name += c == '-' ? '_' : upper(c);
  return name;
}

}  // namespace

std::vector<std::string> environment_names() {
  std::vector<std::string> names;
  for (const auto& [name, path] : collect_names()) names.push_back(name);
  return names;
}

void apply_overrides(YamlNode& root, const ConfigSources& sources, std::vector<YamlError>& errors) {
  if (root.kind != YamlNode::Kind::map) return;
  const auto names = collect_names();
  std::vector<std::string_view> known;
  for (const auto& [name, path] : names) known.push_back(name);

  for (const auto& [name, text] : sources.environment) {
    if (!name.starts_with(prefix) || std::ranges::find(reserved, name) != std::end(reserved)) continue;
    const YamlPlace place{.origin = name};
    const auto found = names.find(name);
    if (found == names.end()) {
      errors.push_back({place, "no such setting" + did_you_mean(name, known)});
    } else if (!is_text(text)) {
      errors.push_back({place, "a control character, or a byte that is not UTF-8"});
    } else if (!text.empty()) {  // an empty variable is how shells and containers unset one
      apply(root, found->second, text, place);
    }
  }
  for (const auto& [flag, text] : sources.flags) {
    const YamlPlace place{.origin = flag};
    const auto found = flag.starts_with("--") ? names.find(variable_of_flag(flag)) : names.end();
    if (found == names.end()) {
      errors.push_back({place, "no such setting"});
    } else if (!is_text(text)) {
      errors.push_back({place, "a control character, or a byte that is not UTF-8"});
    } else {
      apply(root, found->second, text, place);
    }
  }
}

}  // namespace onceward::config
