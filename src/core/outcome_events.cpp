#include "core/outcome_events.hpp"

#include <algorithm>

#include "base/base64.hpp"
#include "base/json_text.hpp"
#include "base/time_text.hpp"
#include "core/ascii.hpp"
#include "core/json_tape.hpp"
#include "core/media_type.hpp"

namespace onceward {
namespace {

bool same_name(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, {}, ascii_lower, ascii_lower);
}

// The value of the first of these header lines that has this name.
std::string_view header_value(std::string_view lines, std::string_view name) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find("\r\n"));
    lines.remove_prefix(std::min(lines.size(), line.size() + 2));
    const std::size_t colon = line.find(':');
    if (colon != line.npos && same_name(line.substr(0, colon), name)) return trim_ows(line.substr(colon + 1));
  }
  return {};
}

// A name as part of a URI reference.
std::string in_path(std::string_view name) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : name) {
    const bool plain = is_digit(c) || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') ||
                       std::string_view("-._~/:*").contains(c);
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += digits[static_cast<unsigned char>(c) >> 4];
      out += digits[static_cast<unsigned char>(c) & 15];
    }
  }
  return out;
}

void append_member(std::string& out, std::string_view name, std::string_view value) {
  out += ',';
  append_json_string(out, name);
  out += ':';
  append_json_string(out, value);
}

struct Data {
  std::string_view content_type;  // empty: not said
  std::string_view bytes;
  bool present = false;
};

bool is_json(const Data& data) {
  if (!data.content_type.empty() && parse_media_type(data.content_type).kind != BodyKind::json) return false;
  JsonTape tape;
  return tape.parse(data.bytes);
}

void append_data(std::string& out, const Data& data) {
  if (!data.present) return;
  const bool json = is_json(data);
  if (!data.content_type.empty() || json)
    append_member(out, "datacontenttype", data.content_type.empty() ? "application/json" : data.content_type);
  if (json) {
    out += ",\"data\":";
    out += data.bytes;
  } else {
    append_member(out, "data_base64", to_base64(data.bytes));
  }
}

Data response_data(const Response* response) {
  if (!response || response->body_omitted || response->body.empty()) return {};
  return {header_value(response->headers, "Content-Type"), response->body, true};
}

std::string subject_of(const Occurrence& what) {
  if (what.result && !what.result->resource_id.empty()) {
    const std::string& type = what.result->resource_type;
    return type.empty() ? what.result->resource_id : type + "/" + what.result->resource_id;
  }
  return what.response ? std::string(header_value(what.response->headers, "Location")) : "";
}

Event event_of(const Occurrence& what, std::string_view type, const Data& data) {
  const std::string operation_id = to_string(what.operation_id);
  Event event{operation_id + ":" + std::string(type), std::string(type), std::string(cloud_event_type), ""};
  std::string& out = event.payload;
  out = "{\"specversion\":\"1.0\"";
  append_member(out, "id", event.id);
  append_member(out, "type", type);
  append_member(out, "source", "/onceward/operations/" + in_path(what.request.operation));
  append_member(out, "time", time_text(what.at));
  if (const std::string subject = subject_of(what); !subject.empty()) append_member(out, "subject", subject);
  append_member(out, "operationid", operation_id);
  if (!what.request.tenant.empty()) append_member(out, "tenant", what.request.tenant);
  append_data(out, data);
  out += '}';
  return event;
}

bool applies(EventOn on, State as) {
  return on == EventOn::succeeded ? as == State::succeeded : as == State::failed;
}

}  // namespace

bool is_event_type(std::string_view type) {
  return !type.empty() && type.size() <= 200 &&
         std::ranges::all_of(type, [](char c) { return c > ' ' && c < '\x7f'; });
}

std::shared_ptr<const Events> events_of(const Occurrence& what, std::span<const EventRule> rules,
                                        std::span<const Emission> emitted) {
  auto events = std::make_shared<Events>();
  for (const EventRule& rule : rules) {
    const bool replaced = std::ranges::find(emitted, rule.type, &Emission::type) != emitted.end();
    if (applies(rule.on, what.as) && !replaced)
      events->push_back(event_of(what, rule.type, response_data(what.response)));
  }
  for (const Emission& own : emitted)
    events->push_back(event_of(what, own.type, {own.content_type, own.data, true}));
  if (events->empty()) return nullptr;
  return events;
}

}  // namespace onceward
