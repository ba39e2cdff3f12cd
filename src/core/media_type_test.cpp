#include "core/media_type.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

TEST(MediaType, TellsWhichFormABodyHas) {
  struct Case {
    std::string_view text;
    BodyKind kind;
    std::string_view type;
  };
  const Case cases[] = {
      {"application/json", BodyKind::json, "application/json"},
      {" Application/JSON ;charset=utf-8", BodyKind::json, "application/json"},
      {"application/vnd.api+json; v=1", BodyKind::json, "application/vnd.api+json"},
      {"application/x-www-form-urlencoded;charset=UTF-8", BodyKind::form,
       "application/x-www-form-urlencoded"},
      {"multipart/form-data; boundary=b", BodyKind::multipart, "multipart/form-data"},
      {"multipart/mixed; boundary=b", BodyKind::other, "multipart/mixed"},
      {"multipart/form-data", BodyKind::other, "multipart/form-data"},
      {"text/json", BodyKind::other, "text/json"},
      {"+json", BodyKind::other, "+json"},
      {"application/jsonx", BodyKind::other, "application/jsonx"},
      {"application/json, text/plain", BodyKind::other, "application/json, text/plain"},
      {"", BodyKind::other, ""},
      {";", BodyKind::other, ""},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(parse_media_type(c.text).kind, c.kind) << c.text;
    EXPECT_EQ(parse_media_type(c.text).type, c.type) << c.text;
  }
}

TEST(MediaType, FindsTheBoundary) {
  const std::string multipart = "multipart/form-data";
  const std::pair<std::string_view, std::string_view> found[] = {
      {"; boundary=b", "b"},
      {";BOUNDARY=b", "b"},
      {"; boundary=\"a b\"", "a b"},
      {"; boundary=\"a\\\"b\"", "a\"b"},
      {"; charset=x ; boundary=b", "b"},
      {"; boundary=b ;charset=x", "b"},
  };
  for (const auto& [parameters, boundary] : found) {
    const MediaType media = parse_media_type(multipart + std::string(parameters));
    EXPECT_EQ(media.kind, BodyKind::multipart) << parameters;
    EXPECT_EQ(media.boundary, boundary) << parameters;
  }
  for (std::string_view parameters :
       {"; boundary=", "; boundary", "; boundary=\"b", "; boundary=\"b\\", "; boundary=a; boundary=b",
        "; boundary=b x", "; boundary=b;", "; =b", "; boundary = b", "; boundary=b; x"}) {
    const MediaType media = parse_media_type(multipart + std::string(parameters));
    EXPECT_EQ(media.kind, BodyKind::other) << parameters;
    EXPECT_EQ(media.boundary, "") << parameters;
    EXPECT_EQ(media.parameters, parameters) << parameters;
  }
}

}  // namespace
}  // namespace onceward
