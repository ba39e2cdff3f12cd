#include "base/json_text.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace onceward {
namespace {

std::string json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

struct TextCase {
  std::string_view text;
  std::string_view json;
};

class JsonText : public testing::TestWithParam<TextCase> {};

TEST_P(JsonText, IsEscaped) { EXPECT_EQ(json(GetParam().text), GetParam().json); }

using namespace std::string_view_literals;

INSTANTIATE_TEST_SUITE_P(
    Table, JsonText,
    testing::Values(TextCase{"", "\"\""}, TextCase{"plain /path", "\"plain /path\""},
                    TextCase{"a\"b\\c", R"("a\"b\\c")"}, TextCase{"\n\r\t", R"("\n\r\t")"},
                    TextCase{"\0\x1f\x7f"sv, R"("\u0000\u001f\u007f")"},
                    TextCase{"\xc3\xa9\xe2\x82\xac", "\"\xc3\xa9\xe2\x82\xac\""},
                    TextCase{"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""}, TextCase{"\xff", R"("\ufffd")"},
                    TextCase{"\xc3", R"("\ufffd")"}, TextCase{"\xc3(", R"("\ufffd(")"},
                    TextCase{"\xc0\xaf", R"("\ufffd\ufffd")"},                      // overlong
                    TextCase{"\xe0\x80\xaf", R"("\ufffd\ufffd\ufffd")"},            // overlong
                    TextCase{"\xed\xa0\x80", R"("\ufffd\ufffd\ufffd")"},            // surrogate
                    TextCase{"\xf4\x90\x80\x80", R"("\ufffd\ufffd\ufffd\ufffd")"},  // beyond Unicode
                    TextCase{"\xe2\x82", R"("\ufffd\ufffd")"}));

TEST(JsonTextOfAnyBytes, IsAlwaysValidJson) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string text{static_cast<char>(first), static_cast<char>(second), 'x'};
      boost::json::error_code error;
      const boost::json::value value = boost::json::parse(json(text), error);
      ASSERT_FALSE(error) << first << " " << second;
      ASSERT_TRUE(value.is_string());
    }
  }
}

}  // namespace
}  // namespace onceward
