// Loading: the file's tree, with overrides, read by the schema into a Config; every mistake collected.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <tuple>

#include "config/config.hpp"
#include "config/config_override.hpp"
#include "config/config_schema.hpp"
#include "config/config_spelling.hpp"

namespace onceward::config {
namespace {

using Kind = YamlNode::Kind;

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::null:
      return "nothing";
    case Kind::scalar:
      return "a value";
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a section";
  }
  return {};
}

// Reads one section's map; a section inside gets a reader of its own.
class SectionReader : public Fields {
 public:
  SectionReader(const YamlNode& map, std::vector<YamlError>& errors) : map_(map), errors_(errors) {}

  void setting(std::string_view name, const Setting& setting) override {
    const YamlEntry* entry = take(name, setting.required);
    if (entry == nullptr) return;
    if (entry->value.kind == Kind::null) return fail(name, entry->place, "'" + entry->key + "' has no value");
    if (entry->value.kind != Kind::scalar) return wrong_kind(name, *entry, "a value");
    check(name, entry->value.place, setting.read(entry->value));
  }

  void list(std::string_view name, const ListSetting& list) override {
    const YamlEntry* entry = take(name, list.required);
    if (entry == nullptr) return;
    const YamlNode& node = entry->value;
    const bool single = node.kind == Kind::scalar && list.single;
    if (node.kind != Kind::list && node.kind != Kind::null && !single)
      return wrong_kind(name, *entry, "a list");
    list.clear();
    if (single) check(name, node.place, list.add(node));
    for (const YamlNode& item : node.items) {
      if (item.kind == Kind::scalar) {
        check(name, item.place, list.add(item));
      } else {
        fail(name, item.place, "expected a value, found " + std::string(kind_name(item.kind)));
      }
    }
    if (list.required && node.items.empty()) fail(name, entry->place, "'" + entry->key + "' is empty");
  }

  void section(std::string_view name, const Section& section) override {
    const YamlEntry* entry = take(name, false);
    if (entry == nullptr) return;
    const YamlNode& node = entry->value;
    if (node.kind == Kind::scalar && !section.shorthand.empty()) {
      YamlNode map{.kind = Kind::map, .place = node.place};
      map.entries.push_back({std::string(section.shorthand), node.place, node});
      section.create();
      read(name, map, section.describe);
    } else if (node.kind == Kind::map || node.kind == Kind::null) {
      section.create();
      YamlNode map = node;
      // An empty section is the same as one that says nothing; it stands where its key does.
      if (node.kind == Kind::null) map = {.kind = Kind::map, .place = entry->place};
      read(name, map, section.describe);
    } else {
      wrong_kind(name, *entry, "a section");
    }
  }

  void sections(std::string_view name, const SectionList& sections) override {
    const YamlEntry* entry = take(name, false);
    if (entry == nullptr || entry->value.kind == Kind::null) return;
    if (entry->value.kind != Kind::list) return wrong_kind(name, *entry, "a list of sections");
    for (const YamlNode& item : entry->value.items) {
      if (item.kind != Kind::map) {
        fail(name, item.place, "expected a section, found " + std::string(kind_name(item.kind)));
        continue;
      }
      sections.add();
      const std::size_t index = sections.count() - 1;
      read(name, item, [&](Fields& fields) { sections.describe(fields, index); });
    }
  }

  void rule(std::initializer_list<std::string_view> about,
            const std::function<std::string()>& broken) override {
    if (std::ranges::any_of(about, [this](std::string_view name) { return failed_.contains(name); })) return;
    const YamlEntry* entry = map_.find(*about.begin());
    check(*about.begin(), entry == nullptr ? map_.place : value_place(*entry), broken());
  }

  void refuse_unknown_keys() {
    for (const YamlEntry& entry : map_.entries) {
      if (std::ranges::find(known_, entry.key) != known_.end()) continue;
      errors_.push_back({entry.place, "unknown key '" + entry.key + "'" + did_you_mean(entry.key, known_)});
    }
  }

 private:
  const YamlEntry* take(std::string_view name, bool required) {
    known_.push_back(name);
    const YamlEntry* entry = map_.find(name);
    if (entry == nullptr && required) fail(name, map_.place, "'" + std::string(name) + "' is missing");
    return entry;
  }

  static const YamlPlace& value_place(const YamlEntry& entry) {
    return entry.value.kind == Kind::null || entry.value.kind == Kind::map ? entry.place : entry.value.place;
  }

  void read(std::string_view name, const YamlNode& map, const std::function<void(Fields&)>& describe) {
    const std::size_t before = errors_.size();
    SectionReader reader(map, errors_);
    describe(reader);
    reader.refuse_unknown_keys();
    if (errors_.size() != before) failed_.insert(name);
  }

  void wrong_kind(std::string_view name, const YamlEntry& entry, std::string_view expected) {
    fail(name, entry.value.place,
         "'" + entry.key + "': expected " + std::string(expected) + ", found " +
             std::string(kind_name(entry.value.kind)));
  }
  void check(std::string_view name, const YamlPlace& place, std::string wrong) {
    if (!wrong.empty()) fail(name, place, std::move(wrong));
  }
  void fail(std::string_view name, const YamlPlace& place, std::string message) {
    failed_.insert(name);
    errors_.push_back({place, std::move(message)});
  }

  const YamlNode& map_;
  std::vector<YamlError>& errors_;
  std::vector<std::string_view> known_;
  std::set<std::string_view> failed_;
};

// In the order of the file, then variables and flags.
ConfigErrors in_order(std::vector<YamlError> errors, const std::string& file_name) {
  std::ranges::sort(errors, {}, [](const YamlError& error) {
    const YamlPlace& place = error.place;
    return std::tuple(!place.origin.empty(), place.line, place.column, place.origin, error.message);
  });
  ConfigErrors result;
  for (const YamlError& error : errors) {
    const YamlPlace& place = error.place;
    const std::string where = !place.origin.empty() ? place.origin
                                                    : file_name + ":" + std::to_string(place.line) + ":" +
                                                          std::to_string(place.column);
    result.messages.push_back(where + ": " + error.message);
  }
  return result;
}

// Empty, or why the file cannot be read.
std::string read_file(const std::string& name, std::string& text) {
  constexpr std::size_t bytes_max = std::size_t{4} << 20;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(name.c_str(), "rb"), std::fclose);
  if (!file) return "cannot be read: " + std::string(std::strerror(errno));
  std::array<char, 8192> buffer;
  for (std::size_t n = buffer.size(); n == buffer.size();) {  // a short read is the end, or an error
    n = std::fread(buffer.data(), 1, buffer.size(), file.get());
    text.append(buffer.data(), n);
    if (text.size() > bytes_max) return "is larger than 4 MiB";
  }
  if (std::ferror(file.get()) != 0) return "cannot be read: " + std::string(std::strerror(errno));
  return {};
}

}  // namespace

std::expected<Config, ConfigErrors> load_config(const ConfigSources& sources) {
  std::vector<YamlError> errors;
  YamlNode root = parse_yaml(sources.text, errors);
  const bool readable = root.kind == Kind::map;
  if (!readable)
    errors.push_back({root.place, "expected a section, found " + std::string(kind_name(root.kind))});
  Config config;
  if (readable) {
    apply_overrides(root, sources, errors);
    SectionReader reader(root, errors);
    describe_config(reader, config);
    reader.refuse_unknown_keys();
  }
  const std::string file_name = sources.file_name.empty() ? "configuration" : sources.file_name;
  if (!errors.empty()) return std::unexpected(in_order(std::move(errors), file_name));
  return config;
}

std::expected<Config, ConfigErrors> load_config_file(const std::string& file,
                                                     const std::vector<NamedValue>& flags) {
  ConfigSources sources{.file_name = file, .text = {}, .environment = {}, .flags = flags};
  if (!file.empty()) {
    if (std::string wrong = read_file(file, sources.text); !wrong.empty())
      return std::unexpected(ConfigErrors{{file + ": " + wrong}});
  }
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      sources.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return load_config(sources);
}

}  // namespace onceward::config
