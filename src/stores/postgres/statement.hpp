// Statement: one SQL text and its parameters in PostgreSQL's binary form, ready for libpq. Long byte strings
// are referred to, not copied: they must live until it was sent. Owned by one thread at a time.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onceward/values.hpp"

namespace onceward::postgres {

class Statement {
 public:
  explicit Statement(const char* sql) : sql_(sql) {}

  template <class Tag>
  Statement& bytes(const Bytes<Tag, 32>& value) {
    return refer(oid_bytea, view(value.data));
  }
  template <class Tag>
  Statement& uuid(const Bytes<Tag, 16>& value) {
    return refer(oid_uuid, view(value.data));
  }
  Statement& bytes(std::string_view value) { return refer(oid_bytea, value); }
  Statement& own_bytes(std::string value) { return own(oid_bytea, std::move(value)); }
  Statement& no_bytes() { return null(oid_bytea); }
  Statement& text(std::string value) { return own(oid_text, std::move(value)); }
  Statement& word(std::string_view constant) { return refer(oid_text, constant); }
  Statement& no_text() { return null(oid_text); }
  Statement& optional_text(const std::optional<std::string>& value);
  Statement& number(std::int32_t value);
  Statement& no_number() { return null(oid_int4); }
  Statement& big(std::int64_t value);
  Statement& optional_big(std::optional<std::int64_t> value);
  Statement& flag(bool value);
  Statement& no_flag() { return null(oid_bool); }

  Statement& texts(const std::vector<std::string>& values);
  Statement& no_texts() { return null(oid_text_array); }
  Statement& byte_strings(const std::vector<std::string_view>& values);
  Statement& no_byte_strings() { return null(oid_bytea_array); }
  Statement& bigs(const std::vector<std::int64_t>& values);
  Statement& flags(const std::vector<bool>& values);

  // Sends it with the unnamed statement, so that it works behind a transaction pooler too.
  bool send(PGconn* connection) const;

 private:
  static constexpr Oid oid_bool = 16, oid_bytea = 17, oid_int8 = 20, oid_int4 = 23, oid_text = 25,
                       oid_uuid = 2950, oid_bool_array = 1000, oid_bytea_array = 1001, oid_text_array = 1009,
                       oid_int8_array = 1016;

  template <std::size_t N>
  static std::string_view view(const std::array<std::uint8_t, N>& data) {
    return {reinterpret_cast<const char*>(data.data()), N};
  }
  Statement& refer(Oid type, std::string_view value);
  Statement& own(Oid type, std::string value);
  Statement& null(Oid type);

  const char* sql_;
  std::deque<std::string> owned_;  // a deque: what was referred to stays where it is
  std::vector<Oid> types_;
  std::vector<const char*> values_;
  std::vector<int> lengths_;
};

}  // namespace onceward::postgres
