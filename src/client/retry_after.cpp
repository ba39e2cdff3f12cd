#include "client/retry_after.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/ascii.hpp"

namespace onceward::client {
namespace {

constexpr std::int64_t longest_seconds = std::int64_t{365} * 24 * 3600;
constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  if (text.empty() || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Too many digits for a number are still a very long time.
  if (error == std::errc::result_out_of_range) return longest_seconds;
  return value;
}

// Sun, 06 Nov 1994 08:49:37 GMT. The two forms that nobody has sent for decades are not read.
std::optional<Timestamp> parse_date(std::string_view text) {
  if (text.size() != 29 || text.substr(3, 2) != ", " || !text.ends_with(" GMT")) return std::nullopt;
  if (text[7] != ' ' || text[11] != ' ' || text[16] != ' ' || text[19] != ':' || text[22] != ':')
    return std::nullopt;
  const auto month = std::ranges::find(months, text.substr(8, 3));
  const auto day = number(text.substr(5, 2));
  const auto year = number(text.substr(12, 4));
  const auto hour = number(text.substr(17, 2));
  const auto minute = number(text.substr(20, 2));
  const auto second = number(text.substr(23, 2));
  if (month == months.end() || !day || !year || !hour || !minute || !second) return std::nullopt;
  if (*hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const std::chrono::year_month_day date{
      std::chrono::year(static_cast<int>(*year)),
      std::chrono::month(static_cast<unsigned>(month - months.begin()) + 1),
      std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second);
}

}  // namespace

std::optional<Duration> parse_retry_after(std::string_view value, Timestamp now) {
  constexpr Duration longest = std::chrono::seconds(longest_seconds);
  value = trim_ows(value);
  if (const auto seconds = number(value)) return std::chrono::seconds(std::min(*seconds, longest_seconds));
  if (const auto date = parse_date(value)) return std::clamp(*date - now, Duration(0), longest);
  return std::nullopt;
}

}  // namespace onceward::client
