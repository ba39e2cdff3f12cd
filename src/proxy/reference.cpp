#include "proxy/reference.hpp"

#include "core/json_value.hpp"
#include "core/operation_result.hpp"

namespace onceward {

std::string reference_of(const ReferenceRule& rule, const http::HeaderList& headers, std::string_view body) {
  std::string found;
  if (rule.is_header) {
    found = headers.find(rule.where).value_or("");
  } else if (Result<std::string> value = json_value_at(body, rule.where)) {
    found = std::move(*value);
  }
  return is_showable(found, reference_bytes_max) ? found : std::string();
}

}  // namespace onceward
