// The text of log lines; no I/O and no state.
#include <fmt/format.h>

#include <iterator>

#include "base/json_text.hpp"
#include "ops/log.hpp"

namespace onceward {
namespace {

// Longer paths are cut: a lane is small and a client chooses the path.
constexpr std::size_t path_bytes_max = 2048;
constexpr std::size_t key_hash_digits = 8;

void append_time(std::string& out, Timestamp time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
                 static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                 static_cast<unsigned>(date.day()), clock.hours().count(), clock.minutes().count(),
                 clock.seconds().count(), clock.subseconds().count());
}

void append_milliseconds(std::string& out, std::chrono::nanoseconds duration) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  fmt::format_to(std::back_inserter(out), "{}.{:03}", us / 1000, us % 1000);
}

std::string_view path_only(std::string_view path) {
  return path.substr(0, path.find_first_of("?#")).substr(0, path_bytes_max);
}

// A terminal obeys control characters, and a client chooses the path and the method.
void append_safe_text(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    const std::size_t length = utf8_length(text);
    const bool c1_control = length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
    if (byte < 0x20 || byte == 0x7F || length == 0 || c1_control) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
      text.remove_prefix(1);
      // The second byte of a C1 control is no character of its own and is escaped by the next round.
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
}

class JsonLine {
 public:
  explicit JsonLine(std::string& out) : out_(out) { out_ += '{'; }
  void name(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    append_json_string(out_, name);
    out_ += ':';
  }
  void text(std::string_view field, std::string_view value) {
    name(field);
    append_json_string(out_, value);
  }
  void time(Timestamp value) {
    name("time");
    out_ += '"';
    append_time(out_, value);
    out_ += '"';
  }
  void number(std::string_view field, std::integral auto value) {
    name(field);
    fmt::format_to(std::back_inserter(out_), "{}", value);
  }
  void boolean(std::string_view field, bool value) {
    name(field);
    out_ += value ? "true" : "false";
  }
  void milliseconds(std::string_view field, std::chrono::nanoseconds value) {
    name(field);
    append_milliseconds(out_, value);
  }
  void end() { out_ += "}\n"; }

 private:
  std::string& out_;
  bool first_ = true;
};

std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
    case LogLevel::off:
      break;
  }
  return "off";
}

std::string_view level_colour(LogLevel level) {
  switch (level) {
    case LogLevel::warning:
      return "\x1b[33m";
    case LogLevel::error:
      return "\x1b[31m";
    default:
      return "\x1b[2m";
  }
}

void append_text_head(std::string& out, LogFormat format, Timestamp time, LogLevel level) {
  append_time(out, time);
  out += ' ';
  const bool colour = format == LogFormat::colour;
  if (colour) out += level_colour(level);
  fmt::format_to(std::back_inserter(out), "{:<7}", level_name(level));
  if (colour) out += "\x1b[0m";
  out += ' ';
}

void append_pair(std::string& out, std::string_view name, std::string_view value) {
  out += ' ';
  append_safe_text(out, name);
  out += '=';
  append_safe_text(out, value);
}

void access_json(std::string& out, const AccessLine& line) {
  JsonLine json(out);
  json.time(line.time);
  json.text("level", "info");
  json.text("event", "request");
  json.text("method", line.method);
  json.text("path", path_only(line.path));
  json.number("status", line.status);
  json.text("operation", line.operation);
  json.text("outcome", line.outcome);
  json.milliseconds("duration_ms", line.duration);
  if (line.upstream_duration.count() >= 0) json.milliseconds("upstream_ms", line.upstream_duration);
  if (!line.operation_id.empty()) json.text("operation_id", line.operation_id);
  if (line.epoch != 0) json.number("epoch", line.epoch);
  if (!line.key_hash.empty()) json.text("key_hash", line.key_hash.substr(0, key_hash_digits));
  json.number("bytes_in", line.bytes_in);
  json.number("bytes_out", line.bytes_out);
  json.text("peer", line.peer);
  json.end();
}

void access_text(std::string& out, LogFormat format, const AccessLine& line) {
  append_text_head(out, format, line.time, LogLevel::info);
  append_safe_text(out, line.method);
  out += ' ';
  append_safe_text(out, path_only(line.path));
  fmt::format_to(std::back_inserter(out), " {} ", line.status);
  append_safe_text(out, line.outcome);
  out += ' ';
  append_milliseconds(out, line.duration);
  out += "ms";
  if (line.upstream_duration.count() >= 0) {
    out += " upstream=";
    append_milliseconds(out, line.upstream_duration);
    out += "ms";
  }
  append_pair(out, "operation", line.operation);
  if (!line.operation_id.empty()) append_pair(out, "id", line.operation_id);
  if (line.epoch != 0) fmt::format_to(std::back_inserter(out), " epoch={}", line.epoch);
  if (!line.key_hash.empty()) append_pair(out, "key", line.key_hash.substr(0, key_hash_digits));
  fmt::format_to(std::back_inserter(out), " in={} out={}", line.bytes_in, line.bytes_out);
  append_pair(out, "peer", line.peer);
  out += '\n';
}

}  // namespace

void format_access(std::string& out, LogFormat format, const AccessLine& line) {
  if (format == LogFormat::json) {
    access_json(out, line);
  } else {
    access_text(out, format, line);
  }
}

void format_message(std::string& out, LogFormat format, Timestamp time, LogLevel level,
                    std::string_view message, std::initializer_list<LogField> fields) {
  if (format == LogFormat::json) {
    JsonLine json(out);
    json.time(time);
    json.text("level", level_name(level));
    json.text("message", message);
    for (const LogField& field : fields) {
      if (const auto* text = std::get_if<std::string_view>(&field.value)) json.text(field.name, *text);
      if (const auto* number = std::get_if<std::int64_t>(&field.value)) json.number(field.name, *number);
      if (const auto* flag = std::get_if<bool>(&field.value)) json.boolean(field.name, *flag);
    }
    json.end();
    return;
  }
  append_text_head(out, format, time, level);
  append_safe_text(out, message);
  for (const LogField& field : fields) {
    if (const auto* text = std::get_if<std::string_view>(&field.value)) append_pair(out, field.name, *text);
    if (const auto* number = std::get_if<std::int64_t>(&field.value))
      append_pair(out, field.name, std::to_string(*number));
    if (const auto* flag = std::get_if<bool>(&field.value))
      append_pair(out, field.name, *flag ? "true" : "false");
  }
  out += '\n';
}

}  // namespace onceward
