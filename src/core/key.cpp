#include "core/key.hpp"

#include "core/ascii.hpp"
#include "core/structured_item.hpp"

namespace onceward {
namespace {

Error invalid(std::string why) { return {Errc::invalid, std::move(why)}; }

bool is_bare_key(std::string_view value) {
  for (char c : value)
    if (c < 0x21 || c > 0x7e || c == ',') return false;
  return true;
}

}  // namespace

Result<std::string> parse_key(std::string_view header_value, const KeyPolicy& policy) {
  const std::string_view value = trim_ows(header_value);
  if (value.empty()) return invalid("the key is empty");
  std::string key;
  if (value.front() == '"') {
    auto item = parse_string_item(value);
    if (!item) return invalid("the key begins with a quote but is not one valid quoted string");
    key = std::move(*item);
  } else if (policy.strict) {
    return invalid("the key must be a quoted string");
  } else {
    if (!is_bare_key(value))
      return invalid("an unquoted key has only visible ASCII characters and neither spaces nor commas");
    key = value;
  }
  if (key.empty()) return invalid("the key is empty");
  if (key.size() > policy.max_length)
    return invalid("the key is longer than " + std::to_string(policy.max_length) + " characters");
  return key;
}

Result<std::optional<std::string>> key_from_lines(std::span<const std::string_view> lines,
                                                  const KeyPolicy& policy) {
  if (lines.empty()) return std::optional<std::string>();
  if (lines.size() > 1) return invalid("the key's header is repeated");
  auto key = parse_key(lines.front(), policy);
  if (!key) return key.error();
  return std::optional(*std::move(key));
}

}  // namespace onceward
