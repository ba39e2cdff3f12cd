#include "cli/record_table.hpp"

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "base/json_text.hpp"
#include "base/time_text.hpp"

namespace onceward::cli {
namespace {

namespace json = boost::json;

// How many columns of a terminal the text takes, as far as counting characters tells.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    // Control characters, and the second set of them that UTF-8 begins with 0xc2.
    const bool control = first < 0x20 || first == 0x7f ||
                         (length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0);
    out += length == 0 || control ? std::string_view("?") : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (!value || value->is_null()) return {};
  return value->is_string() ? std::string(value->as_string()) : json::serialize(*value);
}

std::string cause_of(const json::object& record) {
  const json::value* evidence = record.if_contains("evidence");
  return evidence && evidence->is_object() ? text_of(evidence->as_object(), "cause") : std::string();
}

}  // namespace

std::string as_table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  std::vector<Row> clean = rows;
  for (Row& row : clean) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = printable(row[i]);
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  }
  std::string out;
  for (const Row& row : clean) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      line.append(widths[i] - width_of(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string age_text(Duration age) {
  const auto seconds = std::max<std::int64_t>(0, std::chrono::floor<std::chrono::seconds>(age).count());
  if (seconds < 120) return std::to_string(seconds) + "s";
  if (seconds < 2 * 3600) return std::to_string(seconds / 60) + "m";
  if (seconds < 48 * 3600) return std::to_string(seconds / 3600) + "h";
  return std::to_string(seconds / 86400) + "d";
}

Row record_header() {
  return {"OPERATION ID", "STATE", "EPOCH", "SINCE", "OPERATION", "TENANT", "KEY", "CAUSE"};
}

Row record_row(const json::object& record, Timestamp now) {
  const auto updated = time_from_text(text_of(record, "updated_at"));
  return {text_of(record, "operation_id"), text_of(record, "state"),
          text_of(record, "epoch"),        updated ? age_text(now - *updated) : "",
          text_of(record, "operation"),    text_of(record, "tenant"),
          text_of(record, "key"),          cause_of(record)};
}

std::string record_details(const json::object& record) {
  std::vector<Row> rows;
  for (const auto& [name, value] : record) {
    if (!value.is_object()) {
      rows.push_back({std::string(name.data(), name.size()), text_of(record, name)});
      continue;
    }
    for (const auto& [inner, inside] : value.as_object())
      rows.push_back({std::string(name) + "." + std::string(inner), text_of(value.as_object(), inner)});
  }
  return as_table(rows);
}

Row audit_header() { return {"AT", "ACTOR", "ACTION", "OUTCOME", "OPERATION ID", "AS", "REASON"}; }

Row audit_row(const json::object& entry) {
  return {text_of(entry, "at"),      text_of(entry, "actor"),        text_of(entry, "action"),
          text_of(entry, "outcome"), text_of(entry, "operation_id"), text_of(entry, "as"),
          text_of(entry, "reason")};
}

std::string progress_bar(double share) {
  constexpr std::size_t width = 30;
  const double within = std::clamp(share, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(within * width);
  std::string percent = std::to_string(static_cast<int>(within * 100));
  percent.insert(0, 3 - percent.size(), ' ');
  return "[" + std::string(filled, '#') + std::string(width - filled, '.') + "] " + percent + " %";
}

}  // namespace onceward::cli
