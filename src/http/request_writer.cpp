#include "http/request_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "http/framing.hpp"
#include "http/hop_by_hop.hpp"
#include "http/response_writer.hpp"

namespace onceward::http {
namespace {

constexpr std::string_view forwarded_for = "X-Forwarded-For";

// Written anew (framing, forwarding) or answered here (Expect).
bool is_rewritten(std::string_view name) {
  switch (name.size()) {
    case 4:
      return same_name(name, "Host");
    case 6:
      return same_name(name, "Expect");
    case 14:
      return same_name(name, "Content-Length");
    case 15:
      return same_name(name, forwarded_for);
    case 16:
      return same_name(name, "X-Forwarded-Host");
    case 17:
      return same_name(name, "X-Forwarded-Proto");
    default:
      return false;
  }
}

void append_body_lines(std::string& out, const RequestHead& request, Body body) {
  switch (body.kind) {
    case Body::Kind::chunked:
      out.append("Transfer-Encoding: ");
      if (request.coded) append_codings(out, request.headers);
      out.append("chunked\r\n");
      return;
    case Body::Kind::length:
      out.append("Content-Length: ");
      append_number(out, body.bytes);
      out.append("\r\n");
      return;
    case Body::Kind::none:
    case Body::Kind::until_close:
      break;
  }
  const bool usually_has_body =
      request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  if (usually_has_body) out.append("Content-Length: 0\r\n");
}

void append_forwarded(std::string& out, const RequestHead& request, const ForwardOptions& options) {
  if (options.peer_address.empty()) return;
  out.append(forwarded_for).append(": ");
  for (const HeaderView& field : request.headers)
    if (field.name.size() == forwarded_for.size() && same_name(field.name, forwarded_for) &&
        !field.value.empty())
      out.append(field.value).append(", ");
  out.append(options.peer_address).append("\r\n");
  append_line(out, "X-Forwarded-Proto", options.tls ? "https" : "http");
  if (!request.host.empty()) append_line(out, "X-Forwarded-Host", request.host);
}

}  // namespace

std::string as_chunks(std::string_view body) {
  std::array<char, 16> size;
  char* end = std::to_chars(size.data(), size.data() + size.size(), body.size(), 16).ptr;
  std::string framed;
  if (!body.empty()) framed.append(size.data(), end).append("\r\n").append(body).append("\r\n");
  return framed.append("0\r\n\r\n");
}

void write_request_head(std::string& out, const RequestHead& request, Body body,
                        const ForwardOptions& options) {
  out.clear();
  out.append(request.method).append(" ");
  if (request.target != "*") out.append(options.base_path);
  out.append(request.target).append(" HTTP/1.1\r\n");
  const std::string_view sent = request.host.empty() ? options.fallback_host : request.host;
  append_line(out, "Host", options.host.empty() ? sent : options.host);

  const HopByHop hops(request.headers, options.protected_names);
  for (const HeaderView& field : request.headers) {
    if (is_rewritten(field.name) || hops.drops(field.name)) continue;
    const auto is_field = [&](std::string_view name) { return same_name(name, field.name); };
    if (std::ranges::any_of(options.drop, is_field)) continue;
    append_line(out, field.name, field.value);
  }
  if (options.upgrade) {
    append_line(out, "Connection", "upgrade");
    for (const HeaderView& field : request.headers)
      if (same_name(field.name, "Upgrade")) append_line(out, field.name, field.value);
  }
  append_forwarded(out, request, options);
  append_body_lines(out, request, body);
  out.append(options.extra_lines).append("\r\n");
}

}  // namespace onceward::http
