// Row: reads one row of a binary result, column by column in order. After the first surprise (a null, a
// wrong size, a value out of range) everything reads as empty and ok() is false, so that a decoder needs
// one check at its end. Borrows the result; one thread.
#pragma once

#include <libpq-fe.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "onceward/values.hpp"

namespace onceward::postgres {

struct ClearResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using ResultPtr = std::unique_ptr<PGresult, ClearResult>;

class Row {
 public:
  Row(const PGresult& result, int row) : result_(result), row_(row) {}

  bool ok() const { return ok_; }
  void fail() { ok_ = false; }
  bool next_is_null() const { return at_ >= PQnfields(&result_) || PQgetisnull(&result_, row_, at_) == 1; }
  void skip() { ++at_; }

  std::string_view bytes();
  std::optional<std::string_view> optional_bytes();
  template <std::size_t N>
  void fixed(std::array<std::uint8_t, N>& to) {
    const std::string_view value = sized(N);
    for (std::size_t i = 0; i < value.size(); ++i) to[i] = static_cast<std::uint8_t>(value[i]);
  }
  bool flag();
  std::int16_t small();
  std::int32_t number();
  std::int64_t big();
  Timestamp time();
  Timestamp optional_time();  // null: the epoch
  Duration duration();

 private:
  std::string_view sized(std::size_t bytes);

  const PGresult& result_;
  const int row_;
  int at_ = 0;
  bool ok_ = true;
};

}  // namespace onceward::postgres
