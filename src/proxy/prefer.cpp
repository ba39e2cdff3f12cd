#include "proxy/prefer.hpp"

#include <charconv>
#include <cstdint>
#include <string_view>

namespace onceward {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<Duration> wait_of(std::string_view preference) {
  const std::size_t equals = preference.find('=');
  if (equals == std::string_view::npos || !http::same_name(trimmed(preference.substr(0, equals)), "wait"))
    return {};
  std::string_view value = trimmed(preference.substr(equals + 1));
  value = trimmed(value.substr(0, value.find(';')));
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
    value = value.substr(1, value.size() - 2);
  std::uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (error != std::errc() || end != value.data() + value.size()) return {};
  return std::chrono::seconds(seconds);
}

// Whether `wanted` is true of one of the preferences; stops there.
template <class Wanted>
bool any_preference(const http::HeaderList& headers, Wanted wanted) {
  for (const http::HeaderView& header : headers) {
    if (!http::same_name(header.name, "Prefer")) continue;
    std::string_view left = header.value;
    while (!left.empty()) {
      const std::size_t comma = std::min(left.find(','), left.size());
      if (wanted(trimmed(left.substr(0, comma)))) return true;
      left.remove_prefix(std::min(comma + 1, left.size()));
    }
  }
  return false;
}

}  // namespace

std::optional<Duration> preferred_wait(const http::HeaderList& headers) {
  std::optional<Duration> found;
  any_preference(headers, [&](std::string_view preference) {
    found = wait_of(preference);
    return found.has_value();
  });
  return found;
}

bool prefers_async(const http::HeaderList& headers) {
  return any_preference(headers, [](std::string_view preference) {
    return http::same_name(trimmed(preference.substr(0, preference.find(';'))), "respond-async");
  });
}

bool is_confirmed(const http::HeaderList& headers) { return headers.find("Onceward-Confirm") == "distinct"; }

}  // namespace onceward
