#include "stores/postgres/row.hpp"

#include "stores/postgres/binary.hpp"

namespace onceward::postgres {
namespace {

// PostgreSQL counts microseconds from 2000-01-01.
constexpr std::chrono::sys_days pg_epoch = std::chrono::year{2000} / 1 / 1;

}  // namespace

std::string_view Row::bytes() {
  if (next_is_null()) {
    ok_ = false;
    ++at_;
    return {};
  }
  const char* data = PQgetvalue(&result_, row_, at_);
  const int length = PQgetlength(&result_, row_, at_);
  ++at_;
  return {data, static_cast<std::size_t>(length)};
}

std::optional<std::string_view> Row::optional_bytes() {
  if (!next_is_null()) return bytes();
  ++at_;
  return std::nullopt;
}

std::string_view Row::sized(std::size_t wanted) {
  const std::string_view value = bytes();
  if (value.size() == wanted) return value;
  ok_ = false;
  return {};
}

bool Row::flag() {
  const std::string_view value = sized(1);
  return !value.empty() && value[0] != 0;
}
std::int16_t Row::small() {
  const std::string_view value = sized(2);
  return value.empty() ? std::int16_t{0} : read_number<std::int16_t>(value);
}
std::int32_t Row::number() {
  const std::string_view value = sized(4);
  return value.empty() ? 0 : read_number<std::int32_t>(value);
}
std::int64_t Row::big() {
  const std::string_view value = sized(8);
  return value.empty() ? 0 : read_number<std::int64_t>(value);
}

Timestamp Row::time() {
  const std::int64_t count = big();
  // The two ends stand for infinity, which no record's time is.
  if (count == INT64_MAX || count == INT64_MIN) ok_ = false;
  return pg_epoch + std::chrono::floor<Duration>(std::chrono::microseconds(count));
}

Timestamp Row::optional_time() {
  if (!next_is_null()) return time();
  ++at_;
  return {};
}

Duration Row::duration() {
  const std::string_view value = sized(16);  // microseconds, days, months
  if (value.empty()) return {};
  if (read_number<std::int32_t>(value.substr(12)) != 0) ok_ = false;  // no fixed length
  return std::chrono::floor<Duration>(std::chrono::microseconds(read_number<std::int64_t>(value))) +
         std::chrono::days(read_number<std::int32_t>(value.substr(8)));
}

}  // namespace onceward::postgres
