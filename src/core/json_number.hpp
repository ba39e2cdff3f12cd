// A JSON number as an exact decimal: ±digits × 10^exponent, digits without leading or trailing zeros,
// so that 100, 100.0 and 1e2 are one value and no two values are ever merged by rounding. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace onceward {

struct Decimal {
  std::string_view digits;  // empty: zero, then neither negative nor with an exponent
  std::int64_t exponent = 0;
  bool negative = false;
};

struct JsonNumber {
  Decimal value;
  const char* after;
};

// Digits that are not contiguous in the source go to `arena`, which is moved past them. Nothing for
// what is not a JSON number, and for exponents whose sum could overflow.
std::optional<JsonNumber> read_json_number(const char* at, const char* end, char*& arena);

// Plain notation where it is short, otherwise digits, "e" and exponent; one text per value.
std::string to_text(const Decimal& value);

}  // namespace onceward
