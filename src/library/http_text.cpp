#include "library/http_text.hpp"

namespace onceward::api {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// A line break inside a name or value would become another header when it is replayed.
bool is_one_line(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == text.npos;
}

void add_all(http::HeaderList& list, const HttpHeaders& headers) {
  for (const auto& [name, value] : headers) {
    if (!name.empty() && is_one_line(name) && is_one_line(value)) list.add(name, trimmed(value));
  }
}

}  // namespace

http::RequestHead head_of(const HttpRequest& request) {
  http::RequestHead head;
  head.method = request.method;
  head.target = request.target;
  add_all(head.headers, request.headers);
  return head;
}

http::ResponseHead head_of(const HttpResponse& response) {
  http::ResponseHead head;
  head.status = response.status;
  add_all(head.headers, response.headers);
  return head;
}

HttpHeaders headers_from(std::string_view lines) {
  HttpHeaders headers;
  while (!lines.empty()) {
    const std::size_t end = lines.find("\r\n");
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 2);
    const std::size_t colon = line.find(": ");
    if (colon != std::string_view::npos) headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  return headers;
}

}  // namespace onceward::api
