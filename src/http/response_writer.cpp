#include "http/response_writer.hpp"

#include <algorithm>
#include <charconv>

#include "http/hop_by_hop.hpp"
#include "http/text_writer.hpp"

namespace onceward::http {

void append_number(std::string& out, std::uint64_t number) {
  char digits[20];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  out.append(digits, end);
}

void append_line(std::string& out, std::string_view name, std::string_view value) {
  const std::size_t before = out.size();
  const std::size_t after = before + name.size() + value.size() + TextWriter::line_extra;
  out.resize_and_overwrite(after, [&](char* text, std::size_t) {
    TextWriter(text + before).put_line(name, value);
    return after;
  });
}

void append_response_lines(std::string& out, const ResponseHead& response,
                           std::span<const std::string_view> drop) {
  const std::size_t before = out.size();
  std::size_t room = before;
  for (const HeaderView& field : response.headers)
    room += field.name.size() + field.value.size() + TextWriter::line_extra;
  const HopByHop hops(response.headers, {});
  out.resize_and_overwrite(room, [&](char* text, std::size_t) {
    TextWriter writer(text + before);
    for (const HeaderView& field : response.headers) {
      if (hops.drops(field.name)) continue;
      if (field.name.size() == 14 && same_name(field.name, "Content-Length")) continue;
      const auto is_field = [&](std::string_view name) { return same_name(name, field.name); };
      if (std::ranges::any_of(drop, is_field)) continue;
      writer.put_line(field.name, field.value);
    }
    return static_cast<std::size_t>(writer.end() - text);
  });
}

void append_status_line(std::string& out, int status, std::string_view reason) {
  if (reason.empty()) reason = usual_reason(status);
  const std::size_t before = out.size();
  constexpr std::size_t own_bytes = 32;
  out.resize_and_overwrite(before + own_bytes + reason.size(), [&](char* text, std::size_t) {
    TextWriter writer(text + before);
    writer.put("HTTP/1.1 ").put_number(static_cast<std::uint64_t>(status)).put(" ").put(reason).put("\r\n");
    return static_cast<std::size_t>(writer.end() - text);
  });
}

std::string_view usual_reason(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 101:
      return "Switching Protocols";
    case 103:
      return "Early Hints";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "";
  }
}

}  // namespace onceward::http
