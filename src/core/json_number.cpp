#include "core/json_number.hpp"

#include <algorithm>
#include <cstring>

#include "core/ascii.hpp"

namespace onceward {
namespace {

// Leaves room for one more digit and for adding the length of any body.
constexpr std::int64_t exponent_max = 100'000'000'000'000'000;
constexpr std::int64_t plain_zeros_max = 20;

std::string_view read_digits(const char*& at, const char* end) {
  const char* first = at;
  while (at != end && is_digit(*at)) ++at;
  return {first, static_cast<std::size_t>(at - first)};
}

std::string_view without_leading_zeros(std::string_view digits) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

std::string_view without_trailing_zeros(std::string_view digits) {
  return digits.substr(0, digits.find_last_not_of('0') + 1);
}

struct Exponent {
  std::int64_t value = 0;
  bool too_large = false;
};

// `at` is at the e, if there is one.
std::optional<Exponent> read_exponent(const char*& at, const char* end) {
  Exponent exponent;
  if (at == end || (*at != 'e' && *at != 'E')) return exponent;
  ++at;
  const bool negative = at != end && *at == '-';
  if (at != end && (*at == '-' || *at == '+')) ++at;
  const std::string_view digits = read_digits(at, end);
  if (digits.empty()) return std::nullopt;
  for (char c : without_leading_zeros(digits)) {
    exponent.value = exponent.value * 10 + (c - '0');
    exponent.too_large = exponent.value > exponent_max;
    if (exponent.too_large) break;
  }
  if (negative) exponent.value = -exponent.value;
  return exponent;
}

std::string_view join(std::string_view whole, std::string_view fraction, char*& arena) {
  const char* joined = arena;
  std::memcpy(arena, whole.data(), whole.size());
  arena += whole.size();
  std::memcpy(arena, fraction.data(), fraction.size());
  arena += fraction.size();
  return {joined, whole.size() + fraction.size()};
}

}  // namespace

std::optional<JsonNumber> read_json_number(const char* at, const char* end, char*& arena) {
  Decimal value;
  value.negative = at != end && *at == '-';
  if (value.negative) ++at;
  std::string_view whole = read_digits(at, end);
  if (whole.empty() || (whole.size() > 1 && whole.front() == '0')) return std::nullopt;
  std::string_view fraction;
  if (at != end && *at == '.') {
    ++at;
    fraction = read_digits(at, end);
    if (fraction.empty()) return std::nullopt;
  }
  const auto exponent = read_exponent(at, end);
  if (!exponent) return std::nullopt;

  fraction = without_trailing_zeros(fraction);
  if (whole == "0") whole = {};
  if (whole.empty() && fraction.empty()) return JsonNumber{{}, at};  // -0 and 0e9 are 0
  if (exponent->too_large) return std::nullopt;
  value.exponent = exponent->value - static_cast<std::int64_t>(fraction.size());
  if (fraction.empty()) {
    value.digits = without_trailing_zeros(whole);
    value.exponent += static_cast<std::int64_t>(whole.size() - value.digits.size());
  } else {
    value.digits = whole.empty() ? without_leading_zeros(fraction) : join(whole, fraction, arena);
  }
  return JsonNumber{value, at};
}

std::string to_text(const Decimal& value) {
  if (value.digits.empty()) return "0";
  std::string text(value.digits);
  const auto count = static_cast<std::int64_t>(text.size());
  if (value.exponent >= 0 && value.exponent <= plain_zeros_max) {
    text.append(static_cast<std::size_t>(value.exponent), '0');
  } else if (value.exponent < 0 && -value.exponent < count) {
    text.insert(static_cast<std::size_t>(count + value.exponent), 1, '.');
  } else if (value.exponent < 0 && -value.exponent - count <= plain_zeros_max) {
    text.insert(0, "0." + std::string(static_cast<std::size_t>(-value.exponent - count), '0'));
  } else {
    text += "e" + std::to_string(value.exponent);
  }
  if (value.negative) text.insert(0, 1, '-');
  return text;
}

}  // namespace onceward
