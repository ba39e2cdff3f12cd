#include "sidecar/message_head.hpp"

#include <algorithm>

#include "core/ascii.hpp"
#include "http/head.hpp"
#include "http/response_writer.hpp"
#include "proxy/trace.hpp"

namespace onceward::sidecar {
namespace {

bool is_name(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_tchar); }

bool is_value(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

bool is_trace(std::string_view name) {
  return http::same_name(name, "traceparent") || http::same_name(name, "tracestate");
}

}  // namespace

std::string content_type_of(const messaging::Message& message) {
  if (!message.content_type.empty() && is_value(message.content_type)) return message.content_type;
  const std::size_t first = message.body.find_first_not_of(" \t\r\n");
  const bool json = first != std::string::npos && (message.body[first] == '{' || message.body[first] == '[');
  return json ? "application/json" : "application/octet-stream";
}

void MessageHead::write(std::string& head, std::size_t body_bytes, const Grant& grant) const {
  head.append(target_.method).append(" ").append(target_.target).append(" HTTP/1.1\r\n");
  http::append_line(head, "Host", target_.authority);
  http::append_line(head, "Content-Type", content_type_of(message_));
  head.append("Content-Length: ");
  http::append_number(head, body_bytes);
  head.append("\r\n");
  http::append_line(head, "Idempotency-Key", key_);
  http::append_line(head, "Onceward-Operation-Id", to_string(grant.operation_id));
  head.append("Onceward-Epoch: ");
  http::append_number(head, grant.epoch);
  head.append("\r\n");
  http::append_line(head, "Onceward-Consumer", target_.consumer);
  write_message_lines(head);
  head.append("\r\n");
}

void MessageHead::write_message_lines(std::string& head) const {
  const auto add = [&head](const std::string& name, const std::string& value) {
    if (is_name(name) && is_value(value)) http::append_line(head, "Message-" + name, value);
  };
  if (!message_.id.empty()) add("Id", message_.id);
  if (!message_.type.empty()) add("Type", message_.type);
  if (!message_.key.empty()) add("Key", message_.key);
  http::HeaderList trace;
  for (const auto& [name, value] : message_.headers) {
    if (is_trace(name)) {
      if (is_value(value)) trace.add(name, value);
    } else {
      add(name, value);
    }
  }
  if (!has_trace(trace)) {
    head.append(begin_trace(random_).view());
    return;
  }
  for (const http::HeaderView& line : trace) http::append_line(head, line.name, line.value);
}

}  // namespace onceward::sidecar
