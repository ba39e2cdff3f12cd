#include <algorithm>

#include "base/hex.hpp"
#include "base/sha256.hpp"
#include "base/system.hpp"
#include "core/encode.hpp"
#include "onceward/client.hpp"
#include "onceward/values.hpp"

namespace onceward::client {
namespace {

constexpr std::size_t key_bytes_max = 255;

}  // namespace

NewKey NewKey::random() {
  OperationId id;
  SystemRandom().fill(id.data);
  auto milliseconds = static_cast<std::uint64_t>(SystemClock().now().time_since_epoch().count());
  for (std::size_t i = 6; i-- > 0; milliseconds >>= 8) id.data[i] = static_cast<std::uint8_t>(milliseconds);
  id.data[6] = static_cast<std::uint8_t>(0x70 | (id.data[6] & 0x0f));  // RFC 9562: version 7, variant 2
  id.data[8] = static_cast<std::uint8_t>(0x80 | (id.data[8] & 0x3f));
  return NewKey(to_string(id));
}

NewKey NewKey::derived(const std::vector<std::string>& fields) {
  std::string parts = "onceward key 1\n";
  for (const std::string& field : fields) append_part(parts, field);
  return NewKey(to_hex(sha256(parts)));
}

Result<NewKey> NewKey::given(std::string_view key) {
  const bool visible = std::ranges::all_of(key, [](char c) { return c >= 0x20 && c < 0x7f; });
  if (key.empty() || key.size() > key_bytes_max || !visible)
    return Error{Errc::invalid, "a key has 1 to 255 visible ASCII characters"};
  return NewKey(std::string(key));
}

}  // namespace onceward::client
