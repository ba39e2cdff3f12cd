#include "cli/call_report.hpp"

#include <openssl/evp.h>

#include "base/json_text.hpp"

namespace onceward::cli {
namespace {

using client::Ending;

const char* name_of(Ending ending) {
  switch (ending) {
    case Ending::succeeded:
      return "succeeded";
    case Ending::failed:
      return "failed";
    case Ending::unknown:
      return "unknown";
  }
  return "unknown";
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = utf8_length(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

void append_member(std::string& out, const char* name, std::string_view value) {
  out.append(",\"").append(name).append("\":");
  append_json_string(out, value);
}

void append_answer(std::string& out, const client::Answer& answer) {
  out.append(",\"status\":").append(std::to_string(answer.status)).append(",\"headers\":[");
  for (std::size_t i = 0; i < answer.headers.size(); ++i) {
    out.append(i == 0 ? "[" : ",[");
    append_json_string(out, answer.headers[i].first);
    out += ',';
    append_json_string(out, answer.headers[i].second);
    out += ']';
  }
  out += ']';
  if (is_utf8(answer.body)) {
    append_member(out, "body", answer.body);
  } else {
    append_member(out, "bodyBase64", base64(answer.body));
  }
  if (answer.body_cut) out.append(",\"bodyCut\":true");
}

}  // namespace

int call_exit_code(Ending ending) {
  switch (ending) {
    case Ending::succeeded:
      return 0;
    case Ending::failed:
      return 1;
    case Ending::unknown:
      return exit_unknown;
  }
  return exit_unknown;
}

std::string answer_head(const client::Answer& answer) {
  std::string text = "HTTP/1.1 " + std::to_string(answer.status) + "\r\n";
  for (const auto& [name, value] : answer.headers)
    text.append(name).append(": ").append(value).append("\r\n");
  return text + "\r\n";
}

std::string call_json(const client::Intent& intent, const client::Outcome& outcome) {
  std::string out = "{\"outcome\":\"";
  out.append(name_of(outcome.ending)).append("\",\"final\":").append(outcome.final ? "true" : "false");
  out.append(",\"fromIntent\":").append(outcome.from_intent ? "true" : "false");
  append_member(out, "intent", intent.name());
  append_member(out, "key", intent.key());
  out.append(",\"attempts\":").append(std::to_string(outcome.attempts));
  if (!outcome.operation_id.empty()) append_member(out, "operationId", outcome.operation_id);
  append_member(out, "reason", outcome.reason);
  if (outcome.answer.status != 0) append_answer(out, outcome.answer);
  return out + "}";
}

}  // namespace onceward::cli
