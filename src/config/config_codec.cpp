#include "config/config_codec.hpp"

#include <charconv>

#include "config/config_spelling.hpp"
#include "core/json_pointer.hpp"

namespace onceward::config {
namespace {

constexpr std::string_view token_characters =
    "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

std::string found(const YamlNode& node) { return ", found '" + node.text + "'"; }

// Digits only, no leading zero: `010` means different numbers to different readers.
bool parse_count(std::string_view text, std::uint64_t& out) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return false;
  if (text.size() > 1 && text[0] == '0') return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

// `text` = count unit. False when it is not, or is larger than 2^53.
bool parse_with_unit(std::string_view text, std::span<const Unit> units, std::uint64_t& out) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto unit = std::ranges::find(units, text.substr(digits), &Unit::name);
  std::uint64_t count = 0;
  if (unit == units.end() || !parse_count(text.substr(0, digits), count)) return false;
  constexpr std::uint64_t most = std::uint64_t{1} << 53;
  if (count > most / unit->factor) return false;
  out = count * unit->factor;
  return true;
}

// The largest unit that divides the value: 86400000 → 1d. `units` from small to large.
std::string write_with_unit(std::uint64_t value, std::span<const Unit> units) {
  const Unit* best = &units.front();
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.factor == 0) best = &unit;
  }
  return std::to_string(value / best->factor) + std::string(best->name);
}

constexpr Unit duration_units[] = {
    {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
constexpr Unit size_units[] = {{"", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};

std::string duration_text(Duration value) {
  if (value.count() == 0) return "0s";
  return write_with_unit(static_cast<std::uint64_t>(value.count()), duration_units);
}

}  // namespace

std::string expected_one_of(std::span<const std::string_view> words, std::string_view found_text) {
  std::string message = "expected ";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != 0) message += i + 1 == words.size() ? " or " : ", ";
    message += words[i];
  }
  return message + ", found '" + std::string(found_text) + "'" + did_you_mean(found_text, words);
}

bool is_header_name(std::string_view text) {
  return !text.empty() && text.size() <= 256 &&
         text.find_first_not_of(token_characters) == std::string_view::npos;
}

std::string check_pointer(std::string_view text) {
  if (!text.starts_with('/')) return "a JSON pointer begins with '/', found '" + std::string(text) + "'";
  if (!pointer_tokens(text))
    return "not a JSON pointer ('~' is written ~0 and '/' is written ~1): '" + std::string(text) + "'";
  return {};
}

std::string BoolCodec::read(const YamlNode& node, bool& out) const {
  if (node.quoted || (node.text != "true" && node.text != "false"))
    return "expected true or false" + found(node);
  out = node.text == "true";
  return {};
}
YamlNode BoolCodec::write(bool value) const { return YamlNode::literal(value ? "true" : "false"); }

std::string CountCodec::read(const YamlNode& node, std::size_t& out) const {
  std::uint64_t count = 0;
  if (node.quoted || !parse_count(node.text, count)) return "expected a whole number" + found(node);
  if (count < min || count > max)
    return "must be from " + std::to_string(min) + " to " + std::to_string(max) + found(node);
  out = count;
  return {};
}
YamlNode CountCodec::write(std::size_t value) const { return YamlNode::literal(std::to_string(value)); }

std::string DurationCodec::read(const YamlNode& node, Duration& out) const {
  const bool negative = node.text.starts_with('-');
  std::uint64_t ms = 0;
  if (!parse_with_unit(std::string_view(node.text).substr(negative ? 1 : 0), duration_units, ms))
    return "expected a duration such as 500ms, 30s, 10m, 24h or 7d" + found(node);
  const Duration value(negative ? -static_cast<std::int64_t>(ms) : static_cast<std::int64_t>(ms));
  if (value < min && min <= Duration(1))
    return (min.count() == 0 ? "must not be negative" : "must be greater than zero") + found(node);
  if (value < min) return "must be at least " + duration_text(min) + found(node);
  if (value > max) return "must be at most " + duration_text(max) + found(node);
  out = value;
  return {};
}
YamlNode DurationCodec::write(Duration value) const { return YamlNode::string(duration_text(value)); }

std::string SizeCodec::read(const YamlNode& node, std::size_t& out) const {
  std::uint64_t bytes = 0;
  if (!parse_with_unit(node.text, size_units, bytes))
    return "expected a size such as 64KiB or 10MiB" + found(node);
  if (bytes < min || bytes > max)
    return "must be from " + write_with_unit(min, size_units) + " to " + write_with_unit(max, size_units) +
           found(node);
  out = bytes;
  return {};
}
YamlNode SizeCodec::write(std::size_t value) const {
  const std::string text = write_with_unit(value, size_units);
  return text.ends_with('B') ? YamlNode::string(text) : YamlNode::literal(text);
}

std::string StatusCodec::read(const YamlNode& node, int& out) const {
  std::uint64_t status = 0;
  const bool number = !node.quoted && parse_count(node.text, status);
  if (!only.empty()) {
    if (number &&
        std::ranges::find(only, static_cast<int>(std::min<std::uint64_t>(status, 1000))) != only.end()) {
      out = static_cast<int>(status);
      return {};
    }
    std::vector<std::string> texts;
    for (int allowed : only) texts.push_back(std::to_string(allowed));
    const std::vector<std::string_view> words(texts.begin(), texts.end());
    return expected_one_of(words, node.text);
  }
  if (!number || status < 200 || status > 599) return "expected a status code from 200 to 599" + found(node);
  out = static_cast<int>(status);
  return {};
}
YamlNode StatusCodec::write(int value) const { return YamlNode::literal(std::to_string(value)); }

std::string TextCodec::read(const YamlNode& node, std::string& out) const {
  if (node.text.empty()) return "must not be empty";
  if (node.text.size() > max_bytes) return "must not be longer than " + std::to_string(max_bytes) + " bytes";
  if (std::ranges::any_of(node.text,
                          [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }))
    return "must not contain control characters";
  out = node.text;
  return {};
}

std::string HeaderNameCodec::read(const YamlNode& node, std::string& out) const {
  if (!is_header_name(node.text)) return "expected the name of a header" + found(node);
  out = node.text;
  return {};
}

std::string PointerCodec::read(const YamlNode& node, std::string& out) const {
  if (std::string wrong = check_pointer(node.text); !wrong.empty()) return wrong;
  out = node.text;
  return {};
}

std::string WordCodec::read(const YamlNode& node, std::string& out) const {
  if (std::ranges::find(words, node.text) == words.end()) return expected_one_of(words, node.text);
  out = node.text;
  return {};
}

}  // namespace onceward::config
