// JsonBody: the JSON object of an API request, read strictly: no duplicate or unknown members, exact
// numbers, valid UTF-8. What is wrong is said once, naming the member. One per request, on one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_tape.hpp"

namespace onceward {

class JsonBody;

// One object of the body. The readers give nothing for an absent member (and for null), and remember the
// first thing that is wrong in the body.
class JsonObject {
 public:
  JsonObject(JsonBody& body, const JsonNode& node, std::string where)
      : body_(&body), node_(&node), where_(std::move(where)) {}

  const JsonNode* member(std::string_view name);  // null when absent or null
  std::optional<std::string> text(std::string_view name, std::size_t bytes_max);
  std::string needed_text(std::string_view name, std::size_t bytes_max);  // neither absent nor empty
  std::optional<std::int64_t> number(std::string_view name, std::int64_t min, std::int64_t max);
  std::optional<bool> flag(std::string_view name);
  std::optional<JsonObject> object(std::string_view name);
  std::vector<std::string> texts(std::string_view name, std::size_t count_max);  // ["…", …]; none when absent
  std::vector<JsonObject> objects(std::string_view name);                        // [{…}, …]; none when absent
  // The member's value as it was written: its numbers and its order are kept.
  std::optional<std::string_view> raw(std::string_view name);
  // [["name", "value"], …]
  std::vector<std::pair<std::string, std::string>> pairs(std::string_view name);

  void fail(std::string_view name, std::string_view why);
  void refuse_unknown();  // after everything known has been read

 private:
  JsonBody* body_;
  const JsonNode* node_;
  std::string where_;  // "" or "/response"
  std::vector<std::string_view> known_;
};

class JsonBody {
 public:
  explicit JsonBody(std::string_view text);  // must outlive this
  JsonBody(const JsonBody&) = delete;
  JsonBody& operator=(const JsonBody&) = delete;

  // Nothing, with error(), when the text is not one JSON object.
  std::optional<JsonObject> object();
  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }

 private:
  friend class JsonObject;
  std::string_view text_;
  JsonTape tape_;
  std::string error_;
};

// The text of what the pointer (names without escapes, places in arrays) leads to in a valid JSON text.
// Nothing when it is absent, or its name is written with escapes.
std::optional<std::string_view> raw_member(std::string_view text, std::string_view pointer);

}  // namespace onceward
