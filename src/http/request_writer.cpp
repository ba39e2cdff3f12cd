#include "http/request_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/assert.hpp"
#include "http/framing.hpp"
#include "http/hop_by_hop.hpp"
#include "http/text_writer.hpp"

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

// More than all the text that is ours in a head: versions, names, framing.
constexpr std::size_t own_bytes = 256;

std::size_t bytes_at_most(const RequestHead& request, const ForwardOptions& options) {
  std::size_t bytes = own_bytes + request.method.size() + options.base_path.size() + request.target.size() +
                      2 * std::max({request.host.size(), options.host.size(), options.fallback_host.size()}) +
                      options.peer_address.size() + options.extra_lines.size();
  // A line may come twice: passed on, and as a part of what is written anew.
  for (const HeaderView& field : request.headers)
    bytes += 2 * (field.name.size() + field.value.size() + TextWriter::line_extra);
  return bytes;
}

void put_body_lines(TextWriter& out, const RequestHead& request, Body body) {
  switch (body.kind) {
    case Body::Kind::chunked: {
      std::string codings;
      if (request.coded) append_codings(codings, request.headers);
      out.put("Transfer-Encoding: ").put(codings).put("chunked\r\n");
      return;
    }
    case Body::Kind::length:
      out.put("Content-Length: ").put_number(body.bytes).put("\r\n");
      return;
    case Body::Kind::none:
    case Body::Kind::until_close:
      break;
  }
  const bool usually_has_body =
      request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  if (usually_has_body) out.put("Content-Length: 0\r\n");
}

void put_forwarded(TextWriter& out, const RequestHead& request, const ForwardOptions& options) {
  if (options.peer_address.empty()) return;
  out.put(forwarded_for).put(": ");
  for (const HeaderView& field : request.headers)
    if (same_name(field.name, forwarded_for) && !field.value.empty()) out.put(field.value).put(", ");
  out.put(options.peer_address).put("\r\n");
  out.put(options.tls ? "X-Forwarded-Proto: https\r\n" : "X-Forwarded-Proto: http\r\n");
  if (!request.host.empty()) out.put_line("X-Forwarded-Host", request.host);
}

void put_request_head(TextWriter& out, const RequestHead& request, Body body, const ForwardOptions& options) {
  out.put(request.method).put(" ");
  if (request.target != "*") out.put(options.base_path);
  out.put(request.target).put(" HTTP/1.1\r\n");
  const std::string_view sent = request.host.empty() ? options.fallback_host : request.host;
  out.put_line("Host", options.host.empty() ? sent : options.host);

  const HopByHop hops(request.headers, options.protected_names);
  for (const HeaderView& field : request.headers) {
    if (is_rewritten(field.name) || hops.drops(field.name)) continue;
    const auto is_field = [&](std::string_view name) { return same_name(name, field.name); };
    if (std::ranges::any_of(options.drop, is_field)) continue;
    out.put_line(field.name, field.value);
  }
  if (options.upgrade) {
    out.put("Connection: upgrade\r\n");
    for (const HeaderView& field : request.headers)
      if (same_name(field.name, "Upgrade")) out.put_line(field.name, field.value);
  }
  put_forwarded(out, request, options);
  put_body_lines(out, request, body);
  out.put(options.extra_lines).put("\r\n");
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
  const std::size_t room = bytes_at_most(request, options);
  out.resize_and_overwrite(room, [&](char* text, std::size_t) {
    TextWriter writer(text);
    put_request_head(writer, request, body, options);
    const auto bytes = static_cast<std::size_t>(writer.end() - text);
    ONCEWARD_ASSERT(bytes <= room);
    return bytes;
  });
}

}  // namespace onceward::http
