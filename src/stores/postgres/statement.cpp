#include "stores/postgres/statement.hpp"

#include "stores/postgres/binary.hpp"

namespace onceward::postgres {
namespace {

constexpr int binary = 1;

template <class T>
std::string encoded(T value) {
  std::string bytes;
  append_number(bytes, value);
  return bytes;
}

std::string encoded_flag(bool value) { return std::string(1, value ? '\1' : '\0'); }

// One dimension, counted from 1, without nulls.
template <class Values, class Encode>
std::string encoded_array(Oid element, const Values& values, Encode encode) {
  std::string bytes;
  append_number(bytes, std::int32_t{values.empty() ? 0 : 1});
  append_number(bytes, std::int32_t{0});
  append_number(bytes, static_cast<std::int32_t>(element));
  if (values.empty()) return bytes;
  append_number(bytes, static_cast<std::int32_t>(values.size()));
  append_number(bytes, std::int32_t{1});
  for (const auto& value : values) {
    const auto& one = encode(value);
    append_number(bytes, static_cast<std::int32_t>(one.size()));
    bytes += one;
  }
  return bytes;
}

constexpr auto as_it_is = [](const auto& value) -> const auto& { return value; };

}  // namespace

Statement& Statement::refer(Oid type, std::string_view value) {
  types_.push_back(type);
  values_.push_back(value.data() ? value.data() : "");  // a null pointer would be SQL's null
  lengths_.push_back(static_cast<int>(value.size()));
  return *this;
}

Statement& Statement::own(Oid type, std::string value) {
  return refer(type, owned_.emplace_back(std::move(value)));
}

Statement& Statement::null(Oid type) {
  types_.push_back(type);
  values_.push_back(nullptr);
  lengths_.push_back(0);
  return *this;
}

Statement& Statement::optional_text(const std::optional<std::string>& value) {
  return value ? text(*value) : null(oid_text);
}
Statement& Statement::number(std::int32_t value) { return own(oid_int4, encoded(value)); }
Statement& Statement::big(std::int64_t value) { return own(oid_int8, encoded(value)); }
Statement& Statement::optional_big(std::optional<std::int64_t> value) {
  return value ? big(*value) : null(oid_int8);
}
Statement& Statement::flag(bool value) { return own(oid_bool, encoded_flag(value)); }
Statement& Statement::texts(const std::vector<std::string>& values) {
  return own(oid_text_array, encoded_array(oid_text, values, as_it_is));
}
Statement& Statement::byte_strings(const std::vector<std::string_view>& values) {
  return own(oid_bytea_array, encoded_array(oid_bytea, values, as_it_is));
}
Statement& Statement::bigs(const std::vector<std::int64_t>& values) {
  return own(oid_int8_array, encoded_array(oid_int8, values, encoded<std::int64_t>));
}
Statement& Statement::flags(const std::vector<bool>& values) {
  return own(oid_bool_array, encoded_array(oid_bool, values, encoded_flag));
}

bool Statement::send(PGconn* connection) const {
  const std::vector<int> formats(values_.size(), binary);
  return PQsendQueryParams(connection, sql_, static_cast<int>(values_.size()), types_.data(), values_.data(),
                           lengths_.data(), formats.data(), binary) == 1;
}

}  // namespace onceward::postgres
