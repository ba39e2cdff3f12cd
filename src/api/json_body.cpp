#include "api/json_body.hpp"

#include <algorithm>
#include <charconv>

namespace onceward {
namespace {

constexpr std::int64_t integer_digits_max = 18;

std::optional<std::int64_t> integer_of(const JsonNode& node) {
  const auto digits = static_cast<std::int64_t>(node.text.size());
  // Digits end in no zero, so a negative exponent is a fraction.
  if (node.exponent < 0 || digits + node.exponent > integer_digits_max) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : node.text) value = value * 10 + (c - '0');
  for (std::int64_t i = 0; i < node.exponent && digits != 0; ++i) value *= 10;
  return node.negative ? -value : value;
}

// A walk over text that is known to be valid JSON.
class Walk {
 public:
  explicit Walk(std::string_view text) : left_(text) { skip_space(); }

  std::string_view take_value() {
    const std::string_view from = left_;
    if (left_[0] == '"') {
      take_string();
    } else if (left_[0] == '{' || left_[0] == '[') {
      take_container();
    } else {
      left_.remove_prefix(std::min(left_.find_first_of(",]} \t\r\n"), left_.size()));
    }
    return from.substr(0, from.size() - left_.size());
  }

  // The value of this member of the object that comes next.
  std::optional<std::string_view> find(std::string_view wanted) {
    if (!left_.starts_with('{')) return std::nullopt;
    take();
    while (left_[0] != '}') {
      const std::string_view name = take_string();
      take();  // the colon
      const std::string_view value = take_value();
      if (name == wanted) return value;
      skip_space();
      if (left_[0] == ',') take();
    }
    return std::nullopt;
  }

  // The element at this place of the array that comes next.
  std::optional<std::string_view> element(std::string_view place) {
    std::size_t before = 0;
    const auto [end, error] = std::from_chars(place.data(), place.data() + place.size(), before);
    if (error != std::errc() || end != place.data() + place.size()) return std::nullopt;
    take();
    for (; left_[0] != ']'; --before) {
      const std::string_view value = take_value();
      if (before == 0) return value;
      skip_space();
      if (left_[0] == ',') take();
    }
    return std::nullopt;
  }
  bool at_array() const { return left_.starts_with('['); }

 private:
  void skip_space() { left_.remove_prefix(std::min(left_.find_first_not_of(" \t\r\n"), left_.size())); }
  void take() {
    skip_space();
    left_.remove_prefix(1);
    skip_space();
  }
  std::string_view take_string() {
    std::size_t end = 1;
    while (left_[end] != '"') end += left_[end] == '\\' ? 2 : 1;
    const std::string_view inside = left_.substr(1, end - 1);
    left_.remove_prefix(end + 1);
    return inside;
  }
  void take_container() {
    std::size_t depth = 0;
    do {
      if (left_[0] == '"') {
        take_string();
        continue;
      }
      if (left_[0] == '{' || left_[0] == '[') ++depth;
      if (left_[0] == '}' || left_[0] == ']') --depth;
      left_.remove_prefix(1);
    } while (depth != 0);
  }
  std::string_view left_;
};

}  // namespace

std::optional<std::string_view> raw_member(std::string_view text, std::string_view pointer) {
  std::optional<std::string_view> value = text;
  while (value && !pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    Walk walk(*value);
    value = walk.at_array() ? walk.element(pointer.substr(0, end)) : walk.find(pointer.substr(0, end));
    pointer.remove_prefix(end);
  }
  return value;
}

JsonBody::JsonBody(std::string_view text) : text_(text) {
  if (!tape_.parse(text)) {
    error_ = "The body is not valid JSON: one object, UTF-8, no member twice, not nested too deeply.";
  } else if (tape_.root().type != JsonType::object) {
    error_ = "The body must be a JSON object.";
  }
}

std::optional<JsonObject> JsonBody::object() {
  if (!ok()) return std::nullopt;
  return JsonObject(*this, tape_.root(), "");
}

void JsonObject::fail(std::string_view name, std::string_view why) {
  if (body_->error_.empty()) body_->error_ = where_ + "/" + std::string(name) + ": " + std::string(why);
}

const JsonNode* JsonObject::member(std::string_view name) {
  known_.push_back(name);
  for (const std::uint32_t index : body_->tape_.children(*node_)) {
    const JsonNode& child = body_->tape_.node(index);
    if (child.name == name) return child.type == JsonType::null ? nullptr : &child;
  }
  return nullptr;
}

std::optional<std::string> JsonObject::text(std::string_view name, std::size_t bytes_max) {
  const JsonNode* node = member(name);
  if (!node) return std::nullopt;
  if (node->type != JsonType::string) {
    fail(name, "must be a string");
  } else if (node->text.size() > bytes_max) {
    fail(name, "is longer than " + std::to_string(bytes_max) + " bytes");
  } else {
    return std::string(node->text);
  }
  return std::nullopt;
}

std::string JsonObject::needed_text(std::string_view name, std::size_t bytes_max) {
  std::string value = text(name, bytes_max).value_or("");
  if (value.empty()) fail(name, "is missing or empty");
  return value;
}

std::optional<std::int64_t> JsonObject::number(std::string_view name, std::int64_t min, std::int64_t max) {
  const JsonNode* node = member(name);
  if (!node) return std::nullopt;
  const auto value = node->type == JsonType::number ? integer_of(*node) : std::nullopt;
  if (value && *value >= min && *value <= max) return value;
  fail(name, "must be a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  return std::nullopt;
}

std::optional<bool> JsonObject::flag(std::string_view name) {
  const JsonNode* node = member(name);
  if (!node) return std::nullopt;
  if (node->type == JsonType::boolean_true) return true;
  if (node->type != JsonType::boolean_false) fail(name, "must be true or false");
  return false;
}

std::optional<JsonObject> JsonObject::object(std::string_view name) {
  const JsonNode* node = member(name);
  if (!node) return std::nullopt;
  if (node->type == JsonType::object) return JsonObject(*body_, *node, where_ + "/" + std::string(name));
  fail(name, "must be an object");
  return std::nullopt;
}

std::vector<std::string> JsonObject::texts(std::string_view name, std::size_t count_max) {
  std::vector<std::string> found;
  const JsonNode* node = member(name);
  if (!node) return found;
  const JsonTape& tape = body_->tape_;
  bool good = node->type == JsonType::array && node->child_count <= count_max;
  for (std::size_t i = 0; good && i < node->child_count; ++i) {
    const JsonNode& child = tape.node(tape.children(*node)[i]);
    good = child.type == JsonType::string;
    found.emplace_back(child.text);
  }
  if (!good) fail(name, "must be a list of at most " + std::to_string(count_max) + " strings");
  return found;
}

std::vector<JsonObject> JsonObject::objects(std::string_view name) {
  std::vector<JsonObject> found;
  const JsonNode* node = member(name);
  if (!node) return found;
  if (node->type != JsonType::array) fail(name, "must be a list of objects");
  if (node->type != JsonType::array) return found;
  for (const std::uint32_t index : body_->tape_.children(*node)) {
    const JsonNode& child = body_->tape_.node(index);
    const std::string where = where_ + "/" + std::string(name) + "/" + std::to_string(found.size());
    if (child.type != JsonType::object) fail(name, "must be a list of objects");
    if (child.type != JsonType::object) return {};
    found.emplace_back(*body_, child, where);
  }
  return found;
}

std::optional<std::string_view> JsonObject::raw(std::string_view name) {
  if (!member(name)) return std::nullopt;
  const auto value = raw_member(body_->text_, where_ + "/" + std::string(name));
  if (!value) fail(name, "its name must be written without escapes");
  return value;
}

std::vector<std::pair<std::string, std::string>> JsonObject::pairs(std::string_view name) {
  std::vector<std::pair<std::string, std::string>> found;
  const JsonNode* node = member(name);
  if (!node) return found;
  const JsonTape& tape = body_->tape_;
  const auto children_of = [&](const JsonNode& of) {
    return of.type == JsonType::array ? tape.children(of) : std::span<const std::uint32_t>();
  };
  bool good = node->type == JsonType::array;
  for (const std::uint32_t index : children_of(*node)) {
    const auto both = children_of(tape.node(index));
    good = good && both.size() == 2 && tape.node(both[0]).type == JsonType::string &&
           tape.node(both[1]).type == JsonType::string;
    if (!good) break;
    found.emplace_back(tape.node(both[0]).text, tape.node(both[1]).text);
  }
  if (!good) fail(name, "must be a list of [name, value]");
  return found;
}

void JsonObject::refuse_unknown() {
  for (const std::uint32_t index : body_->tape_.children(*node_)) {
    const std::string_view name = body_->tape_.node(index).name;
    if (std::ranges::find(known_, name) == known_.end()) fail(name, "is not known here");
  }
}

}  // namespace onceward
