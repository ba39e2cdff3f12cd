// The effective configuration: the schema asked for its values instead of given them.
#include "config/config_schema.hpp"

namespace onceward::config {
namespace {

using Kind = YamlNode::Kind;

class Printer : public Fields {
 public:
  YamlNode take() { return std::move(map_); }

  void setting(std::string_view name, const Setting& setting) override { add(name, setting.write()); }
  void list(std::string_view name, const ListSetting& list) override {
    add(name, {.kind = Kind::list, .items = list.write()});
  }
  void section(std::string_view name, const Section& section) override {
    if (!section.present()) return;
    Printer inner;
    section.describe(inner);
    add(name, inner.take());
  }
  void sections(std::string_view name, const SectionList& sections) override {
    YamlNode list{.kind = Kind::list};
    for (std::size_t i = 0; i < sections.count(); ++i) {
      Printer inner;
      sections.describe(inner, i);
      list.items.push_back(inner.take());
    }
    add(name, std::move(list));
  }
  void rule(std::initializer_list<std::string_view>, const std::function<std::string()>&) override {}

 private:
  void add(std::string_view name, YamlNode node) {
    if (node.kind != Kind::null) map_.entries.push_back({std::string(name), {}, std::move(node)});
  }
  YamlNode map_{.kind = Kind::map};
};

// The schema binds to values that may change; a printer only reads, so it gets a copy.
YamlNode effective(Config config) {
  Printer printer;
  describe_config(printer, config);
  return printer.take();
}

}  // namespace

std::string effective_yaml(const Config& config) { return to_yaml(effective(config)); }
std::string effective_json(const Config& config) { return to_json(effective(config)); }

}  // namespace onceward::config
