#include "core/json_slice.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

TEST(JsonSlice, is_the_value_exactly_as_it_is_written) {
  struct Case {
    const char* text;
    const char* pointer;
    const char* slice;
  };
  const Case cases[] = {
      {R"({"a":1})", "", R"({"a":1})"},
      {R"(  {"a" : 1}  )", "", R"({"a" : 1})"},
      {R"({"a" : 19.90 , "b":2})", "/a", "19.90"},
      {R"({"a":{"b":[1, {"c": 9007199254740993}, "x"]}})", "/a/b/1", R"({"c": 9007199254740993})"},
      {R"({"a":{"b":[1, {"c": 9007199254740993}, "x"]}})", "/a/b/1/c", "9007199254740993"},
      {R"([[],[1,2],{}])", "/1", "[1,2]"},
      {R"([[],[1,2],{}])", "/2", "{}"},
      {R"(["]",{"}":"\"]"},3])", "/1", R"({"}":"\"]"})"},
      {R"(["]",{"}":"\"]"},3])", "/2", "3"},
      {R"({"a\/b":1,"\u0063":[true]})", "/a~1b", "1"},
      {R"({"a\/b":1,"\u0063":[true]})", "/c/0", "true"},
      {R"({"response":null,"x":1})", "/response", "null"},
      {R"({"":{"":"deep"}})", "//", R"("deep")"},
      {"12", "", "12"},
  };
  for (const Case& c : cases) {
    const Result<std::string_view> slice = json_slice(c.text, c.pointer);
    ASSERT_TRUE(slice) << c.text << " " << c.pointer << ": " << slice.error().message;
    EXPECT_EQ(*slice, c.slice) << c.text << " " << c.pointer;
  }
}

TEST(JsonSlice, says_why_there_is_none) {
  struct Case {
    const char* text;
    const char* pointer;
    Errc why;
  };
  const Case cases[] = {
      {R"({"a":1})", "/b", Errc::not_found},
      {R"({"a":1})", "/a/b", Errc::not_found},
      {R"([1,2])", "/2", Errc::not_found},
      {R"([1,2])", "/01", Errc::not_found},
      {R"([1,2])", "/x", Errc::not_found},
      {"[]", "/0", Errc::not_found},
      {"{}", "/0", Errc::not_found},
      {R"({"a":1)", "/a", Errc::invalid},
      {"", "", Errc::invalid},
      {R"({"a":1} x)", "/a", Errc::invalid},
      {R"({"a":1,"a":2})", "/a", Errc::invalid},
      {R"({"a":1})", "a", Errc::invalid},
  };
  for (const Case& c : cases) {
    const Result<std::string_view> slice = json_slice(c.text, c.pointer);
    ASSERT_FALSE(slice) << c.text << " " << c.pointer;
    EXPECT_EQ(slice.error().code, c.why) << c.text << " " << c.pointer;
  }
}

TEST(JsonElements, are_the_values_of_an_array_as_they_are_written) {
  using Elements = std::vector<std::string_view>;
  EXPECT_EQ(*json_elements("[]"), Elements());
  EXPECT_EQ(*json_elements(" [ ] "), Elements());
  EXPECT_EQ(*json_elements(R"([1.0 , "a,]" ,[2,3], {"b":[","]},null])"),
            (Elements{"1.0", R"("a,]")", "[2,3]", R"({"b":[","]})", "null"}));
}

TEST(JsonElements, only_an_array_has_any) {
  for (const char* text : {"{}", "1", "\"[]\"", "", "[1", "[1,]", "[1] 2", "[\xff]"}) {
    EXPECT_FALSE(json_elements(text)) << text;
  }
}

}  // namespace
}  // namespace onceward
