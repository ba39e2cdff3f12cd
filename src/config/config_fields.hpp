// Fields: the one description of what a configuration may say. The schema tells a Fields, section by
// section, each key's name and how it is read into and written from its place in Config; the loader, the
// environment's names and the effective output are three visitors of that single description.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/yaml_node.hpp"

namespace onceward::config {

class Fields;

// One value. `read` gives an empty string or what is wrong; `write` gives a null node for "not set".
struct Setting {
  std::function<std::string(const YamlNode&)> read;
  std::function<YamlNode()> write;
  bool required = false;
};

struct ListSetting {
  std::function<void()> clear;
  std::function<std::string(const YamlNode&)> add;
  std::function<std::vector<YamlNode>()> write;
  bool single = false;  // one value may stand for a list of one
  bool required = false;
};

struct Section {
  std::function<void(Fields&)> describe;
  std::string_view shorthand = {};       // the key that a bare value in the section's place means
  std::function<void()> create = [] {};  // of optional sections
  std::function<bool()> present = [] { return true; };
};

struct SectionList {
  std::function<void()> add;
  std::function<std::size_t()> count;
  std::function<void(Fields&, std::size_t)> describe;
};

class Fields {
 public:
  virtual ~Fields() = default;
  virtual void setting(std::string_view name, const Setting& setting) = 0;
  virtual void list(std::string_view name, const ListSetting& list) = 0;
  virtual void section(std::string_view name, const Section& section) = 0;
  virtual void sections(std::string_view name, const SectionList& sections) = 0;
  // What must hold between the values read so far: `broken` gives an empty string or what is wrong, to be
  // reported at the first of the keys `about`, or at the section. Not asked when one of those keys is
  // wrong in itself: one mistake, one message.
  virtual void rule(std::initializer_list<std::string_view> about,
                    const std::function<std::string()>& broken) = 0;
};

// A codec has `std::string read(const YamlNode&, T&) const` and `YamlNode write(const T&) const`.
template <class T, class Codec>
Setting value(T& target, Codec codec) {
  return {[&target, codec](const YamlNode& node) { return codec.read(node, target); },
          [&target, codec] { return codec.write(target); }};
}

template <class T, class Codec>
Setting value(std::optional<T>& target, Codec codec) {
  return {[&target, codec](const YamlNode& node) {
            T parsed{};
            std::string wrong = codec.read(node, parsed);
            if (wrong.empty()) target = std::move(parsed);
            return wrong;
          },
          [&target, codec] { return target ? codec.write(*target) : YamlNode{}; }};
}

// An empty string stands for "not set" and is not written.
template <class Codec>
Setting optional_text(std::string& target, Codec codec) {
  return {[&target, codec](const YamlNode& node) { return codec.read(node, target); },
          [&target, codec] { return target.empty() ? YamlNode{} : codec.write(target); }};
}

inline Setting required(Setting setting) {
  setting.required = true;
  return setting;
}
inline ListSetting required(ListSetting list) {
  list.required = true;
  return list;
}

template <class T, class Codec>
ListSetting values(std::vector<T>& target, Codec codec) {
  return {[&target] { target.clear(); },
          [&target, codec](const YamlNode& node) {
            T parsed{};
            std::string wrong = codec.read(node, parsed);
            if (!wrong.empty()) return wrong;
            for (const T& earlier : target) {
              if (earlier == parsed) return "'" + node.text + "' is listed twice";
            }
            target.push_back(std::move(parsed));
            return wrong;
          },
          [&target, codec] {
            std::vector<YamlNode> nodes;
            for (const T& item : target) nodes.push_back(codec.write(item));
            return nodes;
          }};
}

template <class T>
Section part(T& target, void (*describe)(Fields&, T&)) {
  return {.describe = [&target, describe](Fields& fields) { describe(fields, target); }};
}

template <class T>
Section optional_part(std::optional<T>& target, void (*describe)(Fields&, T&)) {
  return {.describe = [&target, describe](Fields& fields) { describe(fields, *target); },
          .create = [&target] { target.emplace(); },
          .present = [&target] { return target.has_value(); }};
}

template <class T>
SectionList parts(std::vector<T>& target, void (*describe)(Fields&, T&)) {
  return {[&target] { target.emplace_back(); }, [&target] { return target.size(); },
          [&target, describe](Fields& fields, std::size_t i) { describe(fields, target[i]); }};
}

}  // namespace onceward::config
