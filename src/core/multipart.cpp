#include "core/multipart.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "core/ascii.hpp"
#include "core/encode.hpp"

namespace onceward {
namespace {

constexpr std::string_view crlf = "\r\n";
constexpr std::size_t boundary_size_max = 70;  // RFC 2046

struct HeaderLine {
  std::string name;  // lower case
  std::string_view value;
  std::size_t order = 0;  // as sent
};

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<HeaderLine> parse_header(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  HeaderLine header{std::string(line.substr(0, colon)), trim_ows(line.substr(colon + 1))};
  if (!std::ranges::all_of(header.name, is_tchar)) return std::nullopt;  // also what a folded line has
  if (header.value.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos)
    return std::nullopt;
  std::ranges::transform(header.name, header.name.begin(), ascii_lower);
  return header;
}

// Reads header lines up to and with the empty line, leaving the body in `part`.
bool take_headers(std::string_view& part, std::vector<HeaderLine>& headers) {
  while (!take(part, crlf)) {
    const std::size_t end = part.find(crlf);
    if (end == std::string_view::npos) return false;
    auto header = parse_header(part.substr(0, end));
    if (!header) return false;
    header->order = headers.size();
    headers.push_back(*std::move(header));
    part.remove_prefix(end + crlf.size());
  }
  std::ranges::sort(headers, {}, [](const HeaderLine& line) { return std::tie(line.name, line.order); });
  return true;
}

bool append_multipart_part(std::string_view part, std::string& out) {
  std::vector<HeaderLine> headers;
  if (!take_headers(part, headers)) return false;
  append_varint(out, headers.size());
  for (const HeaderLine& header : headers) {
    append_part(out, header.name);
    append_part(out, header.value);
  }
  append_part(out, part);
  return true;
}

bool append_parts(std::string_view rest, std::string_view boundary, std::string& out) {
  const std::string delimiter = "\r\n--" + std::string(boundary);
  // The first delimiter has no line before it.
  if (!take(rest, std::string_view(delimiter).substr(crlf.size()))) return false;
  while (!take(rest, "--")) {
    if (!take(rest, crlf)) return false;
    const std::size_t end = rest.find(delimiter);
    if (end == std::string_view::npos) return false;
    if (!append_multipart_part(rest.substr(0, end), out)) return false;
    rest.remove_prefix(end + delimiter.size());
  }
  return rest.empty() || rest == crlf;
}

}  // namespace

bool canonicalize_multipart(std::string_view body, std::string_view boundary, std::string& out) {
  if (boundary.empty() || boundary.size() > boundary_size_max) return false;
  const std::size_t from = out.size();
  if (append_parts(body, boundary, out)) return true;
  out.resize(from);
  return false;
}

}  // namespace onceward
