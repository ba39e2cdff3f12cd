#include "proxy/trace.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/assert.hpp"
#include "base/hex.hpp"

namespace onceward {
namespace {

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_zero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

// version "-" trace-id "-" parent-id "-" flags; a later version may append more after another dash.
bool is_valid(std::string_view value) {
  if (value.size() < 55 || value[2] != '-' || value[35] != '-' || value[52] != '-') return false;
  const std::string_view version = value.substr(0, 2);
  const std::string_view trace = value.substr(3, 32);
  const std::string_view parent = value.substr(36, 16);
  if (!is_hex(version) || !is_hex(trace) || !is_hex(parent) || !is_hex(value.substr(53, 2))) return false;
  if (version == "ff" || is_zero(trace) || is_zero(parent)) return false;
  return value.size() == 55 || (version != "00" && value[55] == '-');
}

}  // namespace

TraceLine begin_trace(Random& random) {
  std::array<std::uint8_t, 24> ids;
  random.fill(ids);
  constexpr std::string_view before = "traceparent: 00-";
  constexpr std::string_view after = "-01\r\n";
  TraceLine line;
  char* at = std::ranges::copy(before, line.text.data()).out;
  at = write_hex(std::span(ids).first(16), at);
  *at++ = '-';
  at = write_hex(std::span(ids).last(8), at);
  at = std::ranges::copy(after, at).out;
  ONCEWARD_ASSERT(at == line.text.data() + line.text.size());
  return line;
}

bool has_trace(const http::HeaderList& headers) {
  const std::optional<std::string_view> value = headers.find("traceparent");
  return value && is_valid(*value) && headers.count("traceparent") == 1;
}

}  // namespace onceward
