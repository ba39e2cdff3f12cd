#include "base/time_text.hpp"

#include <array>
#include <charconv>
#include <cstdio>

namespace onceward {
namespace {

constexpr Duration longest = std::chrono::days(36500);

// Exactly `count` digits from the front of `text`.
std::optional<int> take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// ".125" of any length; beyond milliseconds nothing counts.
std::optional<int> take_milliseconds(std::string_view& text) {
  int value = 0;
  int scale = 100;
  if (!take(text, '.')) return 0;
  std::size_t digits = 0;
  for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; ++digits, text.remove_prefix(1)) {
    value += (text[0] - '0') * scale;
    scale /= 10;
  }
  if (digits == 0 || digits > 9) return std::nullopt;
  return value;
}

}  // namespace

std::string time_text(Timestamp time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::array<char, 48> text;
  const int length = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return {text.data(), static_cast<std::size_t>(length)};
}

std::optional<Timestamp> time_from_text(std::string_view text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day || !take(text, 'T')) return std::nullopt;
  const auto hours = take_digits(text, 2);
  if (!hours || *hours > 23 || !take(text, ':')) return std::nullopt;
  const auto minutes = take_digits(text, 2);
  if (!minutes || *minutes > 59 || !take(text, ':')) return std::nullopt;
  const auto seconds = take_digits(text, 2);
  if (!seconds || *seconds > 59) return std::nullopt;
  const auto milliseconds = take_milliseconds(text);
  if (!milliseconds || text != "Z") return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  return Timestamp(std::chrono::sys_days(date)) + std::chrono::hours(*hours) +
         std::chrono::minutes(*minutes) + std::chrono::seconds(*seconds) + Duration(*milliseconds);
}

std::optional<Duration> duration_from_text(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || count < 0 || text.starts_with('-')) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  constexpr std::pair<std::string_view, Duration> units[] = {{"ms", Duration(1)},
                                                             {"s", std::chrono::seconds(1)},
                                                             {"m", std::chrono::minutes(1)},
                                                             {"h", std::chrono::hours(1)},
                                                             {"d", std::chrono::days(1)}};
  for (const auto& [name, length] : units) {
    if (unit != name) continue;
    if (count > longest / length) return std::nullopt;
    return count * length;
  }
  return std::nullopt;
}

}  // namespace onceward
