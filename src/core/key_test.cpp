#include "core/key.hpp"

#include <gtest/gtest.h>

#include "core/json_value.hpp"
#include "support/vectors.hpp"

namespace onceward {
namespace {

using namespace std::string_literals;

std::optional<std::string> parsed(std::string_view value, bool strict = false) {
  KeyPolicy policy;
  policy.strict = strict;
  auto key = parse_key(value, policy);
  if (!key) EXPECT_EQ(key.error().code, Errc::invalid);
  return key ? std::optional(*key) : std::nullopt;
}

struct Case {
  std::string value;
  std::optional<std::string> key;
};

TEST(ParseKey, QuotedAndBareAreTheSameKey) {
  const Case cases[] = {
      {"k1", "k1"},
      {"\"k1\"", "k1"},
      {" \tk1\t ", "k1"},
      {"  \"k1\"  ", "k1"},
      {"\"a b\"", "a b"},
      {"\"a,b\"", "a,b"},
      {"\"a\\\"b\\\\c\"", "a\"b\\c"},
      {"\" \"", " "},
      {"8e03978e-40d5-43dd-bc93-6894a57f9324", "8e03978e-40d5-43dd-bc93-6894a57f9324"},
      {"abc;x=1", "abc;x=1"},  // only a quoted key has parameters
      {"a\"b", "a\"b"},
      {"a\\b", "a\\b"},
      {"~!", "~!"},
      {"'k1'", "'k1'"},
  };
  for (const Case& c : cases) EXPECT_EQ(parsed(c.value), c.key) << c.value;
}

TEST(ParseKey, ParametersAreCheckedAndIgnored) {
  for (std::string parameters :
       {";a", ";a=1", "; a=-1.5", ";a=tok/en:x", ";a=*", ";a=\"s\\\"\"", ";a=:YWJj:", ";a=::", ";a=?0;b=?1",
        ";*x-_.1=1", ";a=123456789012345", ";a=123456789012.123"})
    EXPECT_EQ(parsed("\"k\"" + parameters), "k") << parameters;
  for (std::string parameters : {";",
                                 "; ",
                                 ";A",
                                 ";1",
                                 ";a=",
                                 ";a=?2",
                                 ";a=?",
                                 ";a=\"",
                                 ";a=:YWJj",
                                 ";a=:Y:",
                                 ";a=:Y===:",
                                 ";a=:Y_:",
                                 ";a=1.",
                                 ";a=-",
                                 ";a=.5",
                                 ";a=1234567890123456",
                                 ";a=1234567890123.1",
                                 ";a=1.1234",
                                 ";a b",
                                 " ;a",
                                 ";a =1",
                                 ";a= 1",
                                 ";\ta",
                                 ";a=@",
                                 "x",
                                 ", \"l\"",
                                 " \"l\"",
                                 "\"l\""})
    EXPECT_EQ(parsed("\"k\"" + parameters), std::nullopt) << parameters;
}

TEST(ParseKey, RefusesWhatIsNoKey) {
  for (const std::string& value :
       {""s,         " "s,         "\t"s,      "\"\""s,  "\"\";a"s, "a,b"s,       "a b"s,
        ","s,        "a\tb"s,      "a\x01"s,   "a\x7f"s, "a\0b"s,   "f\xc3\xbc"s, "\"f\xc3\xbc\""s,
        "\"a\tb\""s, "\"a\x7f\""s, "\"a\0\""s, "\"a"s,   "\""s,     "\"a\\b\""s,  "\"a\\"s,
        "\"a\\\""s,  "\"a\"b"s,    "a\r\nb"s})
    EXPECT_EQ(parsed(value), std::nullopt) << value;
}

TEST(ParseKey, CountsCharactersOfTheKeyNotOfTheHeader) {
  const std::string longest(255, 'x');
  EXPECT_EQ(parsed(longest), longest);
  EXPECT_EQ(parsed("\"" + longest + "\";a=1"), longest);
  EXPECT_EQ(parsed(longest + "x"), std::nullopt);
  EXPECT_EQ(parsed("\"" + longest + "x\""), std::nullopt);
  KeyPolicy policy;
  policy.max_length = 3;
  EXPECT_TRUE(parse_key("\"a\\\\b\"", policy));
  EXPECT_FALSE(parse_key("abcd", policy));
}

TEST(ParseKey, StrictTakesOnlyTheQuotedForm) {
  EXPECT_EQ(parsed("k1", true), std::nullopt);
  EXPECT_EQ(parsed("\"k1\"", true), "k1");
  EXPECT_EQ(parsed(" \"k1\";a ", true), "k1");
}

TEST(ParseKey, AnErrorDoesNotRepeatTheKey) {
  for (std::string_view value : {"\"sesame", "sesame,", "sesame sesame"}) {
    const auto key = parse_key(value, {});
    ASSERT_FALSE(key);
    EXPECT_FALSE(key.error().message.empty());
    EXPECT_EQ(key.error().message.find("sesame"), std::string::npos);
  }
}

TEST(KeyFromLines, OneLineIsAKeyNoneIsNoneAndMoreAreAnError) {
  const std::vector<std::string_view> none, one{"k1"}, two{"k1", "k1"}, bad{"a,b"};
  EXPECT_EQ(*key_from_lines(none, {}), std::nullopt);
  EXPECT_EQ(*key_from_lines(one, {}), "k1");
  EXPECT_FALSE(key_from_lines(two, {}));
  EXPECT_FALSE(key_from_lines(bad, {}));
}

// The published cases for Items. Where they fail a value that does not begin with a quote, or read it
// as another type ('foo', 1), it is a bare key for us; an empty String is no key (CONTRACT 3).
void expect_agreement(const std::string& vectors, std::size_t index) {
  const std::string at = "/" + std::to_string(index);
  const std::string name = *json_value_at(vectors, at + "/name");
  KeyPolicy policy;
  policy.max_length = 10'000;
  policy.strict = true;
  std::vector<std::string> raw;
  while (auto line = json_value_at(vectors, at + "/raw/" + std::to_string(raw.size()))) raw.push_back(*line);
  const std::vector<std::string_view> lines(raw.begin(), raw.end());
  ASSERT_FALSE(lines.empty());
  const auto key = key_from_lines(lines, policy);
  const auto expected = json_value_at(vectors, at + "/expected/0");
  const bool is_string = raw.front().starts_with('"');
  if (expected && is_string && lines.size() == 1 && !expected->empty()) {
    ASSERT_TRUE(key) << name;
    EXPECT_EQ(*key, *expected) << name;
  } else {
    EXPECT_FALSE(key) << name;
  }
}

TEST(ParseKey, AgreesWithThePublishedStructuredFieldCases) {
  std::size_t cases = 0;
  for (const auto& file : test::vector_files("structured-fields")) {
    const std::string vectors = test::read_vector(file);
    for (std::size_t i = 0; json_value_at(vectors, "/" + std::to_string(i) + "/name"); ++i, ++cases)
      expect_agreement(vectors, i);
  }
  EXPECT_EQ(cases, 275u);
}

}  // namespace
}  // namespace onceward
