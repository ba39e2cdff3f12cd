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
Statement& Statement::flag(bool value) { return own(oid_bool, std::string(1, value ? '\1' : '\0')); }

bool Statement::send(PGconn* connection) const {
  const std::vector<int> formats(values_.size(), binary);
  return PQsendQueryParams(connection, sql_, static_cast<int>(values_.size()), types_.data(), values_.data(),
                           lengths_.data(), formats.data(), binary) == 1;
}

}  // namespace onceward::postgres
