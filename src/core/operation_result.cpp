#include "core/operation_result.hpp"

#include <algorithm>

#include "core/json_value.hpp"

namespace onceward {
namespace {

bool is_visible(std::string_view text, std::size_t bytes_max) {
  return !text.empty() && text.size() <= bytes_max &&
         std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

bool set(OperationResult& out, std::string_view type, std::string_view id) {
  if (!is_visible(type, resource_type_bytes_max) || !is_visible(id, resource_id_bytes_max)) return false;
  out.resource_type = type;
  out.resource_id = id;
  return true;
}

// Without "scheme://authority", query and fragment.
std::string_view path_of(std::string_view uri) {
  uri = uri.substr(0, uri.find_first_of("?#"));
  const std::size_t slashes = uri.find("//");
  const bool has_authority = slashes == 0 || (slashes != uri.npos && slashes > 0 && uri[slashes - 1] == ':');
  if (!has_authority) return uri;
  const std::size_t path = uri.find('/', slashes + 2);
  return path == uri.npos ? std::string_view() : uri.substr(path);
}

std::size_t continuation_bytes(unsigned char first) {
  if (first < 0x80) return 0;
  if (first >= 0xc2 && first < 0xe0) return 1;
  if (first >= 0xe0 && first < 0xf0) return 2;
  if (first >= 0xf0 && first < 0xf5) return 3;
  return std::string_view::npos;
}

// Good enough to be shown: surrogates and overlong forms are refused by what reads JSON.
bool is_text(std::string_view text) {
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t more = continuation_bytes(first);
    if (first < 0x20 || first == 0x7f || more >= text.size()) return false;
    for (std::size_t i = 1; i <= more; ++i) {
      if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return false;
    }
    text.remove_prefix(more + 1);
  }
  return true;
}

std::string problem_member(std::string_view body, std::string_view pointer) {
  const Result<std::string> value = json_value_at(body, pointer);
  return value && is_showable(*value, failure_code_bytes_max) ? *value : std::string();
}

}  // namespace

bool is_showable(std::string_view text, std::size_t bytes_max) {
  return !text.empty() && text.size() <= bytes_max && is_text(text);
}

bool read_resource(std::string_view value, OperationResult& out) {
  const std::size_t slash = value.find('/');
  return slash != value.npos && set(out, value.substr(0, slash), value.substr(slash + 1));
}

bool read_location(std::string_view value, OperationResult& out) {
  std::string_view path = path_of(value);
  if (path.ends_with('/')) path.remove_suffix(1);
  const std::size_t last = path.rfind('/');
  if (last == path.npos) return false;
  const std::string_view collection = path.substr(0, last);
  const std::size_t before = collection.rfind('/');
  return set(out, before == collection.npos ? collection : collection.substr(before + 1),
             path.substr(last + 1));
}

std::string failure_code_of_problem(std::string_view body) {
  std::string code = problem_member(body, "/code");
  if (code.empty()) code = problem_member(body, "/type");
  return code == "about:blank" ? std::string() : code;
}

}  // namespace onceward
