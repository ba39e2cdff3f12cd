// Any bytes as the key's header: a key that is accepted keeps to its limits and survives being quoted.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assert.hpp"
#include "core/key.hpp"

using namespace onceward;

namespace {

std::string quoted(std::string_view key) {
  std::string text = "\"";
  for (char c : key) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view value(reinterpret_cast<const char*>(data), size);
  KeyPolicy policy;
  const auto key = parse_key(value, policy);
  policy.strict = true;
  const auto strict = parse_key(value, policy);
  if (!key) {
    ONCEWARD_ASSERT(key.error().code == Errc::invalid);
    ONCEWARD_ASSERT(!strict);
    return 0;
  }
  ONCEWARD_ASSERT(!key->empty() && key->size() <= policy.max_length);
  for (char c : *key) ONCEWARD_ASSERT(c >= 0x20 && c <= 0x7e);
  if (strict) ONCEWARD_ASSERT(*strict == *key);
  const auto again = parse_key(quoted(*key), policy);
  ONCEWARD_ASSERT(again.has_value());
  ONCEWARD_ASSERT(*again == *key);
  return 0;
}
