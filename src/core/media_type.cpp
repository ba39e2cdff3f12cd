#include "core/media_type.hpp"

#include <algorithm>
#include <optional>

#include "core/ascii.hpp"
#include "core/encode.hpp"

namespace onceward {
namespace {

struct Parameter {
  std::string name;  // lower case
  std::string value;
};

BodyKind kind_of(std::string_view type) {
  if (type == "application/json" || (type.ends_with("+json") && type.contains('/'))) return BodyKind::json;
  if (type == "application/x-www-form-urlencoded") return BodyKind::form;
  if (type == "multipart/form-data") return BodyKind::multipart;
  return BodyKind::other;
}

std::optional<std::string> take_quoted(std::string_view& rest) {
  std::string value;
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      return value;
    }
    if (rest[i] == '\\') ++i;
    if (i < rest.size()) value += rest[i];
  }
  return std::nullopt;
}

std::string take_token(std::string_view& rest) {
  const auto end = std::ranges::find_if_not(rest, is_tchar);
  std::string token(rest.begin(), end);
  rest.remove_prefix(token.size());
  return token;
}

// One `; name=value`, or nothing when the text is something else.
std::optional<Parameter> take_parameter(std::string_view& rest) {
  if (!rest.starts_with(';')) return std::nullopt;
  rest = trim_ows(rest.substr(1));
  Parameter parameter;
  parameter.name = take_token(rest);
  if (parameter.name.empty() || !rest.starts_with('=')) return std::nullopt;
  rest.remove_prefix(1);
  if (rest.starts_with('"')) {
    auto value = take_quoted(rest);
    if (!value) return std::nullopt;
    parameter.value = *std::move(value);
  } else {
    parameter.value = take_token(rest);
    if (parameter.value.empty()) return std::nullopt;
  }
  std::ranges::transform(parameter.name, parameter.name.begin(), ascii_lower);
  rest = trim_ows(rest);
  return parameter;
}

// Takes the boundary out of the parameters. A second one, or text that is no parameter, makes the body
// `other`: receivers would not agree on where its parts begin.
void take_boundary(MediaType& media) {
  std::string_view rest = media.parameters;
  std::string others;
  std::optional<std::string> boundary;
  media.kind = BodyKind::other;
  while (!rest.empty()) {
    auto parameter = take_parameter(rest);
    if (!parameter) return;
    if (parameter->name != "boundary") {
      append_part(others, parameter->name);
      append_part(others, parameter->value);
    } else {
      if (boundary) return;
      boundary = std::move(parameter->value);
    }
  }
  if (!boundary) return;
  media.kind = BodyKind::multipart;
  media.boundary = *std::move(boundary);
  media.parameters = std::move(others);
}

}  // namespace

MediaType parse_media_type(std::string_view content_type) {
  content_type = trim_ows(content_type);
  const std::size_t end = std::min(content_type.find(';'), content_type.size());
  MediaType media;
  media.type = trim_ows(content_type.substr(0, end));
  media.parameters = content_type.substr(end);
  std::ranges::transform(media.type, media.type.begin(), ascii_lower);
  media.kind = kind_of(media.type);
  if (media.kind == BodyKind::multipart) take_boundary(media);
  return media;
}

}  // namespace onceward
