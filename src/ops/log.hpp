// Log: one line per event on stderr, as JSON objects (pipe, or --json) or as text (terminal). Workers
// format into a buffer of their own thread and hand whole lines to a bounded lane; one background thread
// writes. A full lane drops the line and counts it: a slow reader of the log never slows a request.
// No key, tenant, caller or body is ever a parameter here; keys appear as 8 hex digits of their hash.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "onceward/executor.hpp"

namespace onceward {

enum class LogLevel : std::uint8_t { debug, info, warning, error, off };
enum class LogFormat : std::uint8_t { json, text, colour };

struct LogField {
  std::string_view name;
  std::variant<std::string_view, std::int64_t, bool> value;
};

struct AccessLine {
  Timestamp time{};
  std::string_view method;
  std::string_view path;  // a query, if still there, is cut off before it is written
  int status = 0;
  std::string_view operation;
  std::string_view outcome;
  std::chrono::nanoseconds duration{};
  std::chrono::nanoseconds upstream_duration{-1};  // negative: the upstream was not asked
  std::string_view operation_id;                   // empty: none
  std::uint64_t epoch = 0;                         // 0: none
  std::string_view key_hash;                       // at most the first 8 characters are written
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::string_view peer;
};

// Pure: append one line, with its newline. Bytes that are not UTF-8 or not printable are escaped.
void format_access(std::string& out, LogFormat format, const AccessLine& line);
void format_message(std::string& out, LogFormat format, Timestamp time, LogLevel level,
                    std::string_view message, std::initializer_list<LogField> fields);

struct LogOptions {
  LogLevel level = LogLevel::info;
  bool access = true;
  LogFormat format = LogFormat::json;
  int fd = 2;
  std::size_t lanes = 1;                          // one per worker thread
  std::size_t lane_bytes = std::size_t{1} << 18;  // a power of two
};

// JSON unless `fd` is a terminal and JSON was not asked for; colour only on a terminal, without NO_COLOR.
LogFormat choose_log_format(int fd, bool json);

class Log {
 public:
  explicit Log(const LogOptions& options);
  ~Log();  // writes what is left
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  bool access_enabled() const { return access_; }
  bool enabled(LogLevel level) const { return level >= level_; }

  // Only from the one thread that owns `lane`.
  void access(std::size_t lane, const AccessLine& line);

  // Any thread.
  void message(LogLevel level, std::string_view text, std::initializer_list<LogField> fields = {});
  void info(std::string_view text, std::initializer_list<LogField> fields = {}) {
    message(LogLevel::info, text, fields);
  }
  void warning(std::string_view text, std::initializer_list<LogField> fields = {}) {
    message(LogLevel::warning, text, fields);
  }
  void error(std::string_view text, std::initializer_list<LogField> fields = {}) {
    message(LogLevel::error, text, fields);
  }

  std::uint64_t dropped() const;  // lines so far
  void flush();                   // returns when everything handed over before the call was written

 private:
  struct Writer;
  const LogLevel level_;
  const bool access_;
  const LogFormat format_;
  std::unique_ptr<Writer> writer_;
};

}  // namespace onceward
