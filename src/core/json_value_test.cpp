#include "core/json_value.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

struct Case {
  std::string_view body;
  std::string_view pointer;
  std::string_view value;
};

TEST(JsonValueAt, GivesStringsUnescapedAndNumbersAsCanonicalText) {
  const Case cases[] = {
      {R"({"id":"e1"})", "/id", "e1"},
      {R"({"id":"\u00e9\n"})", "/id", "é\n"},
      {R"("whole")", "", "whole"},
      {R"({"a":[{"b/c":"x"}]})", "/a/0/b~1c", "x"},
      {R"({"":{"":"x"}})", "//", "x"},
      {R"({"0":"x"})", "/0", "x"},
      {"100", "", "100"},
      {"100.00", "", "100"},
      {"1e2", "", "100"},
      {"-0", "", "0"},
      {"-0.0e5", "", "0"},
      {"-12.50", "", "-12.5"},
      {"0.00125", "", "0.00125"},
      {"125e-3", "", "0.125"},
      {"1250e-3", "", "1.25"},
      {"9007199254740993", "", "9007199254740993"},
      {"1e20", "", "100000000000000000000"},
      {"10e20", "", "1e21"},
      {"-1.5e300", "", "-15e299"},
      {"1e-21", "", "0.000000000000000000001"},
      {"1e-22", "", "1e-22"},
  };
  for (const Case& c : cases) {
    const auto value = json_value_at(c.body, c.pointer);
    ASSERT_TRUE(value) << c.body;
    EXPECT_EQ(*value, c.value) << c.body;
  }
}

// Strings are searched in blocks: each byte must be seen in each place of one, and behind the last.
TEST(JsonValueAt, SeesEachByteWhereverItStands) {
  for (std::size_t length = 1; length <= 40; ++length) {
    for (std::size_t place = 0; place < length; ++place) {
      for (int byte = 0; byte <= 0xff; ++byte) {
        std::string text(length, 'x');
        text[place] = static_cast<char>(byte);
        const auto value = json_value_at('"' + text + '"', "");
        // A quote ends the string before its time, and what follows is no JSON; a backslash escapes no x, or
        // the end.
        const bool is_plain = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
        ASSERT_EQ(value.has_value(), is_plain) << length << " bytes, " << byte << " at " << place;
        if (value) ASSERT_EQ(*value, text);
      }
    }
  }
}

TEST(JsonValueAt, SaysWhyThereIsNone) {
  struct Failure {
    std::string_view body;
    std::string_view pointer;
    Errc code;
  };
  const Failure cases[] = {
      {R"({"id":"e1"})", "/x", Errc::not_found},
      {R"({"id":"e1"})", "/id/x", Errc::not_found},
      {"[1]", "/1", Errc::not_found},
      {"[1]", "/00", Errc::not_found},
      {"[1]", "/-", Errc::not_found},
      {"[1]", "/", Errc::not_found},
      {"[1,2]", "/+1", Errc::not_found},
      {"[1]", "/18446744073709551616", Errc::not_found},
      {R"({"id":true})", "/id", Errc::invalid},
      {R"({"id":null})", "/id", Errc::invalid},
      {R"({"id":{}})", "/id", Errc::invalid},
      {R"({"id":"e1")", "/id", Errc::invalid},
      {R"({"id":"e1"})", "id", Errc::invalid},
      {"", "", Errc::invalid},
      {R"({"id":1,"id":2})", "/id", Errc::invalid},
  };
  for (const Failure& c : cases) {
    const auto value = json_value_at(c.body, c.pointer);
    ASSERT_FALSE(value) << c.body << c.pointer;
    EXPECT_EQ(value.error().code, c.code) << c.body << c.pointer;
  }
}

}  // namespace
}  // namespace onceward
