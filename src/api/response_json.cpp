#include "api/response_json.hpp"

#include <algorithm>
#include <boost/json/array.hpp>

#include "base/base64.hpp"
#include "http/chars.hpp"
#include "http/hop_by_hop.hpp"

namespace onceward {
namespace {

using http::same_name;

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, http::is_token_char);
}
bool is_value(std::string_view text) { return std::ranges::all_of(text, http::is_value_char); }

// What belongs to one message on one connection, and is written anew for each.
bool is_of_the_message(std::string_view name) {
  return http::is_hop_by_hop(name) || same_name(name, "Content-Length") ||
         same_name(name, "Transfer-Encoding") || same_name(name, "Trailer") || same_name(name, "Date") ||
         same_name(name, "Onceward-Operation-Id") || same_name(name, "Onceward-Stored");
}

std::string read_headers(JsonObject& object, bool is_json) {
  std::string lines;
  bool has_type = false;
  for (const auto& [name, value] : object.pairs("headers")) {
    if (!is_name(name)) object.fail("headers", "has a name that is not one");
    if (!is_value(value)) object.fail("headers", "has a value with a control character");
    has_type = has_type || same_name(name, "Content-Type");
    if (is_of_the_message(name)) continue;
    lines.append(name).append(": ").append(http::trim(value)).append("\r\n");
  }
  if (is_json && !has_type) lines += "Content-Type: application/json\r\n";
  return lines;
}

boost::json::array headers_json(std::string_view lines) {
  boost::json::array headers;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find("\r\n"), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 2, lines.size()));
    const std::size_t colon = line.find(": ");
    if (colon == line.npos) continue;
    headers.push_back(boost::json::array{line.substr(0, colon), line.substr(colon + 2)});
  }
  return headers;
}

}  // namespace

std::optional<GivenBody> read_given_body(JsonObject& object, std::size_t bytes_max) {
  const auto encoded = object.text("body", bytes_max / 3 * 4 + 8);
  const auto json = object.raw("json");
  if (encoded && json) object.fail("json", "stands beside body; give one of them");
  GivenBody given;
  if (json) {
    given = {std::string(*json), true};
  } else if (encoded) {
    auto decoded = from_base64(*encoded);
    if (!decoded) object.fail("body", "is not base64");
    given.bytes = std::move(decoded).value_or("");
  } else {
    return std::nullopt;
  }
  if (given.bytes.size() > bytes_max)
    object.fail(json ? "json" : "body", "is longer than " + std::to_string(bytes_max) + " bytes");
  return given;
}

std::shared_ptr<const Response> read_response(JsonObject& parent, std::size_t body_bytes_max) {
  std::optional<JsonObject> object = parent.object("response");
  if (!object) return nullptr;
  auto response = std::make_shared<Response>();
  const auto status = object->number("status", 200, 599);
  if (!status) object->fail("status", "is missing");
  response->status = static_cast<std::uint16_t>(status.value_or(0));
  GivenBody body = read_given_body(*object, body_bytes_max).value_or(GivenBody{});
  response->headers = read_headers(*object, body.is_json);
  response->body = std::move(body.bytes);
  object->refuse_unknown();
  return response;
}

boost::json::object response_json(const Response& response) {
  boost::json::object out;
  out["status"] = response.status;
  out["headers"] = headers_json(response.headers);
  out["body"] = to_base64(response.body);
  return out;
}

}  // namespace onceward
