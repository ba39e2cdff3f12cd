#include "api/json_body.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

template <class Read>
std::string error_of(const char* text, Read read) {
  JsonBody body(text);
  auto object = body.object();
  if (object) read(*object);
  return body.error();
}

TEST(JsonBody, RefusesWhatIsNotOnePlainObject) {
  for (const char* text : {"",
                           " ",
                           "null",
                           "[]",
                           "1",
                           "\"a\"",
                           "{",
                           "{}}",
                           "{} {}",
                           "{'a':1}",
                           "{a:1}",
                           "{\"a\":1,}",
                           "{\"a\":1 \"b\":2}",
                           "{\"a\":1,\"a\":2}",
                           "{\"a\":01}",
                           "{\"a\":NaN}",
                           "{\"a\":\"\x01\"}",
                           "{\"a\":\"\xff\"}",
                           "{\"a\":\"\\ud800\"}",
                           "\xef\xbb\xbf{}",
                           "{\"a\":1}//",
                           "{\"a\":tru}"}) {
    JsonBody body(text);
    EXPECT_FALSE(body.object()) << text;
    EXPECT_FALSE(body.error().empty()) << text;
  }
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "{\"a\":";
  JsonBody body(deep + "1" + std::string(5000, '}'));
  EXPECT_FALSE(body.object());
}

TEST(JsonBody, ReadsWhatIsThere) {
  JsonBody body(R"({"t":"aé\n","n":1e2,"f":true,"o":{"x":-3},"p":[["a","b"],["a","c"]],"z":null,"e":""})");
  auto object = body.object();
  ASSERT_TRUE(object);
  EXPECT_EQ(object->text("t", 10), "a\u00e9\n");
  EXPECT_EQ(object->number("n", 0, 100), 100);
  EXPECT_EQ(object->flag("f"), true);
  EXPECT_EQ(object->object("o")->number("x", -5, 0), -3);
  EXPECT_EQ(object->pairs("p").size(), 2u);
  EXPECT_EQ(object->text("z", 1), std::nullopt) << "null is as good as absent";
  EXPECT_EQ(object->text("e", 1), "");
  object->refuse_unknown();
  EXPECT_TRUE(body.ok()) << body.error();
}

TEST(JsonBody, NamesTheFirstMemberThatIsWrong) {
  EXPECT_EQ(error_of("{}", [](auto& o) { o.needed_text("a", 9); }), "/a: is missing or empty");
  EXPECT_EQ(error_of(R"({"a":""})", [](auto& o) { o.needed_text("a", 9); }), "/a: is missing or empty");
  EXPECT_EQ(error_of(R"({"a":1})", [](auto& o) { o.needed_text("a", 9); }), "/a: must be a string");
  EXPECT_EQ(error_of(R"({"a":"xxx"})", [](auto& o) { o.text("a", 2); }), "/a: is longer than 2 bytes");
  for (const char* text : {R"({"a":1.5})", R"({"a":101})", R"({"a":-1})", R"({"a":"1"})", R"({"a":1e99})",
                           R"({"a":99999999999999999999999})"})
    EXPECT_EQ(error_of(text, [](auto& o) { o.number("a", 0, 100); }),
              "/a: must be a whole number from 0 to 100");
  EXPECT_EQ(error_of(R"({"a":{"b":1}})", [](auto& o) { o.object("a")->refuse_unknown(); }),
            "/a/b: is not known here");
  EXPECT_EQ(error_of(R"({"a":[["x"]]})", [](auto& o) { o.pairs("a"); }),
            "/a: must be a list of [name, value]");
  EXPECT_EQ(error_of(R"({"a":{"x":"y"}})", [](auto& o) { o.pairs("a"); }),
            "/a: must be a list of [name, value]");
}

TEST(JsonBody, GivesAValueAsItWasWritten) {
  const char* text =
      R"( { "x" : "}]\"{" , "request" : { "body":[1,{"json":0}], "json" : {"b":100.00, "a":[1 ,2]} } , "n":12 } )";
  JsonBody body(text);
  auto object = body.object();
  ASSERT_TRUE(object);
  EXPECT_EQ(object->object("request")->raw("json"), R"({"b":100.00, "a":[1 ,2]})");
  EXPECT_EQ(object->raw("n"), "12");
  EXPECT_EQ(object->raw("x"), R"("}]\"{")");
  EXPECT_EQ(object->raw("none"), std::nullopt);
  EXPECT_TRUE(body.ok());
  JsonBody escaped(R"({"js\u006fn":1})");
  EXPECT_FALSE(escaped.object()->raw("json"));
  EXPECT_FALSE(escaped.ok());
}

TEST(JsonBody, ReadsListsOfObjectsAndOfTexts) {
  const char* text =
      R"({"x":[[1,2],{"y":0}], "events" : [ {"data": [1 ,"]"]} ,{"data":{"a":1.0}}], "ids":["a","b"]})";
  JsonBody body(text);
  auto object = body.object();
  ASSERT_TRUE(object);
  std::vector<JsonObject> events = object->objects("events");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].raw("data"), R"([1 ,"]"])");
  EXPECT_EQ(events[1].raw("data"), R"({"a":1.0})");
  EXPECT_EQ(object->texts("ids", 2), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(object->objects("none").empty() && object->texts("none", 2).empty());
  EXPECT_TRUE(body.ok());
  EXPECT_EQ(error_of(R"({"a":[{"b":1}]})", [](auto& o) { o.objects("a")[0].refuse_unknown(); }),
            "/a/0/b: is not known here");
  for (const char* wrong : {R"({"a":1})", R"({"a":[1]})", R"({"a":[{},[]]})"})
    EXPECT_EQ(error_of(wrong, [](auto& o) { o.objects("a"); }), "/a: must be a list of objects") << wrong;
  for (const char* wrong : {R"({"a":"x"})", R"({"a":[1]})", R"({"a":["x","y"]})"})
    EXPECT_EQ(error_of(wrong, [](auto& o) { o.texts("a", 1); }), "/a: must be a list of at most 1 strings")
        << wrong;
}

TEST(JsonBody, FindsElementsOfArraysByTheirPlace) {
  const char* text = R"({"a":[ 1 ,[2, 3],{"b":[{"c":4}]}]})";
  EXPECT_EQ(raw_member(text, "/a/0"), "1");
  EXPECT_EQ(raw_member(text, "/a/1/1"), "3");
  EXPECT_EQ(raw_member(text, "/a/2/b/0/c"), "4");
  EXPECT_EQ(raw_member(text, "/a/3"), std::nullopt);
  EXPECT_EQ(raw_member(text, "/a/x"), std::nullopt);
  EXPECT_EQ(raw_member(R"({"a":[]})", "/a/0"), std::nullopt);
}

}  // namespace
}  // namespace onceward
