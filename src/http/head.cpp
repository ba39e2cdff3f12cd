#include "http/head.hpp"

#include <cstring>

#include "http/chars.hpp"

namespace onceward::http {

bool same_letters(const char* a, const char* b, std::size_t bytes) {
  // Different names mostly begin differently, and equal ones are mostly written alike.
  if (bytes == 0) return true;
  if (to_lower(a[0]) != to_lower(b[0])) return false;
  if (std::memcmp(a, b, bytes) == 0) return true;
  for (std::size_t i = 0; i < bytes; ++i)
    if (a[i] != b[i] && to_lower(a[i]) != to_lower(b[i])) return false;
  return true;
}

std::optional<std::string_view> HeaderList::find(std::string_view name) const {
  for (const HeaderView& field : fields_)
    if (same_name(field.name, name)) return field.value;
  return std::nullopt;
}

std::size_t HeaderList::count(std::string_view name) const {
  std::size_t n = 0;
  for (const HeaderView& field : fields_) n += same_name(field.name, name) ? 1 : 0;
  return n;
}

std::vector<std::string_view> HeaderList::lines(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const HeaderView& field : fields_)
    if (same_name(field.name, name)) values.push_back(field.value);
  return values;
}

std::string_view RequestHead::query() const {
  const std::size_t mark = target.find('?');
  return mark == target.npos ? std::string_view() : target.substr(mark + 1);
}

void RequestHead::clear() {
  method = target = host = {};
  minor = 1;
  headers.clear();
  body = {};
  keep_alive = true;
  expect_continue = false;
  coded = false;
}

void ResponseHead::clear() {
  status = 0;
  reason = {};
  minor = 1;
  headers.clear();
  body = {};
  keep_alive = true;
}

bool has_token(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (same_name(trim(list.substr(0, comma)), token)) return true;
    if (comma == list.npos) return false;
    list.remove_prefix(comma + 1);
  }
  return false;
}

bool has_token(const HeaderList& headers, std::string_view name, std::string_view token) {
  for (const HeaderView& field : headers)
    if (same_name(field.name, name) && has_token(field.value, token)) return true;
  return false;
}

}  // namespace onceward::http
