#include "http/http_date.hpp"

#include <array>
#include <cstdio>
#include <ctime>

namespace onceward::http {
namespace {

constexpr std::array<const char*, 7> days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<const char*, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                             "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

struct Cached {
  std::time_t second = -1;
  std::array<char, 64> text{};
  std::size_t bytes = 0;
};

thread_local Cached cached;

}  // namespace

std::string_view date_line() {
  const std::time_t now = std::time(nullptr);
  if (now != cached.second) {
    std::tm parts{};
    gmtime_r(&now, &parts);
    // Not strftime: the names must not follow a locale.
    const int written =
        std::snprintf(cached.text.data(), cached.text.size(), "Date: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n",
                      days[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                      months[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900, parts.tm_hour,
                      parts.tm_min, parts.tm_sec);
    cached.bytes = static_cast<std::size_t>(written);
    cached.second = now;
  }
  return {cached.text.data(), cached.bytes};
}

}  // namespace onceward::http
