#include "core/json_canonical.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace onceward {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::IsEmpty;

const SipKey leaf_key{1, 2};

struct Canonical {
  bool ok;
  std::string bytes;
  std::vector<Leaf> leaves;
};

Canonical canonical(std::string_view body, const PointerSet& pointers = {}) {
  // Exactly as long as the body, so that AddressSanitizer sees a read beyond it.
  const std::vector<char> exact(body.begin(), body.end());
  Canonical result{false, "before", {{"left over", 1}}};
  result.ok =
      canonicalize_json({exact.data(), exact.size()}, pointers, leaf_key, result.bytes, result.leaves);
  EXPECT_TRUE(result.bytes.starts_with("before"));
  result.bytes.erase(0, 6);
  return result;
}

PointerSet pointers(std::vector<std::string> ignore, std::vector<std::string> include = {}) {
  return *PointerSet::compile(ignore, include);
}

std::vector<std::string> leaf_pointers(const Canonical& value) {
  std::vector<std::string> names;
  for (const Leaf& leaf : value.leaves) names.push_back(leaf.pointer);
  return names;
}

TEST(CanonicalJson, SpellingsOfOneValueAreOne) {
  const std::vector<std::vector<std::string>> groups = {
      {"100", "100.0", "100.00", "1e2", "1E+2", "10e1", "1000e-1", "0.1e3", "100e0", "100e-0", " 100\n",
       "1e0000000000000000000002"},
      {"0", "-0", "0.0", "-0.000", "0e5", "0E-99999999999999999999999", "0.0e99999999999999999999999"},
      {"-1.5", "-15e-1", "-0.15e1", "-1.50"},
      {"0.001", "1e-3", "0.0010"},
      {"100.5", "1005e-1", "1.005e2"},
      {R"({"a":1,"b":2})", R"({"b":2,"a":1})", "{ \"b\" :\t2.0\r\n, \"a\" : 1 }"},
      {R"("é")", R"("\u00e9")", R"("\u00E9")"},
      {R"("😀")", R"("\ud83d\uDE00")"},
      {R"("/\b\f\n\r\t\"\\")", R"("\/\u0008\u000c\u000a\u000D\u0009\u0022\u005c")"},
      {R"({"a":{"x":1,"y":[]}})", R"({"\u0061":{"y":[ ],"x":1}})"},
      {R"("plain text longer than a word\n")", R"("\u0070lain text longer than a word\u000a")"},
  };
  for (const auto& group : groups) {
    const Canonical first = canonical(group.front());
    EXPECT_TRUE(first.ok) << group.front();
    for (const std::string& text : group) {
      const Canonical other = canonical(text);
      EXPECT_TRUE(other.ok) << text;
      EXPECT_EQ(other.bytes, first.bytes) << text;
      EXPECT_EQ(other.leaves, first.leaves) << text;
    }
  }
}

TEST(CanonicalJson, DifferentValuesAreDifferent) {
  const std::vector<std::string> values = {"null",
                                           "true",
                                           "false",
                                           "0",
                                           "1",
                                           "-1",
                                           "10",
                                           "0.1",
                                           "1e100",
                                           "1e-100",
                                           "9007199254740993",
                                           "9007199254740992",
                                           "1.000000000000000005",
                                           "1e400",
                                           "1e401",
                                           "\"\"",
                                           "\"null\"",
                                           "\"0\"",
                                           "\"1\"",
                                           "{}",
                                           "[]",
                                           "[[]]",
                                           "[{}]",
                                           "[null]",
                                           "[0]",
                                           "[1,2]",
                                           "[2,1]",
                                           "[1,[2]]",
                                           "[[1],2]",
                                           "[[1,2]]",
                                           "[\"ab\",\"c\"]",
                                           "[\"a\",\"bc\"]",
                                           "[\"abc\"]",
                                           R"({"a":null})",
                                           R"({"a":{}})",
                                           R"({"a":""})",
                                           R"({"a":[]})",
                                           R"({"a":1})",
                                           R"({"A":1})",
                                           R"({"a":1,"b":2})",
                                           R"({"a":2,"b":1})",
                                           R"({"a":{"b":2}})",
                                           R"({"a":{},"b":2})",
                                           R"({"a":{"b":{}}})",
                                           R"({"":1})",
                                           R"({"a":"b"})",
                                           R"({"ab":""})",
                                           R"({"0":1})",
                                           R"("é")",
                                           R"("e\u0301")",
                                           R"("\u0000")",
                                           R"("e")",
                                           R"("n")",
                                           R"({"abcdefgh1":1})",
                                           R"({"abcdefgh2":1})",
                                           R"({"a\u0000":1})"};
  std::set<std::string> seen;
  for (const std::string& value : values) {
    const Canonical result = canonical(value);
    EXPECT_TRUE(result.ok) << value;
    EXPECT_TRUE(seen.insert(result.bytes).second) << value;
  }
}

TEST(CanonicalJson, WhatIsNotStrictJsonCountsAsRaw) {
  const std::vector<std::string> bodies = {
      "",
      " ",
      "{",
      "[",
      "\"",
      "\"a",
      "[1",
      "[1,",
      "[1,]",
      "[,1]",
      "{\"a\"}",
      "{\"a\":}",
      "{\"a\":1,}",
      "{a:1}",
      "{'a':1}",
      "{\"a\" 1}",
      "{1:2}",
      "1 2",
      "{}x",
      "[]]",
      "nul",
      "nulll",
      "True",
      "NaN",
      "Infinity",
      "-",
      "+1",
      "01",
      "-01",
      "1.",
      ".5",
      "1e",
      "1e+",
      "1.e1",
      "0x1",
      "1_0",
      "\"\\x\"",
      "\"\\u12\"",
      "\"\\u12g4\"",
      "\"\\",
      "\"\\u",
      "\"a\nb\"",
      "\"a\x1f\"",
      "\"\0\""s,
      "\xef\xbb\xbf{}",
      "{}\xef\xbb\xbf",
      "// c\n1",
      // duplicate members, also when only their spelling differs
      R"({"a":1,"a":1})",
      R"({"a":1,"\u0061":2})",
      R"([{"b":{"x":1,"y":2,"x":1}}])",
      // lone surrogates, escaped and not
      R"("\ud800")",
      R"("\udc00")",
      R"("\ud800\ud800")",
      R"("\ud800x")",
      R"("\ud800\n")",
      R"("\ud800\u0041")",
      "\"\xed\xa0\x80\"",
      // invalid UTF-8: stray, short, overlong, beyond U+10FFFF
      "\"\x80\"",
      "\"\xc3\"",
      "\"\xc3",
      "\"\xc0\x80\"",
      "\"\xc1\xbf\"",
      "\"\xe0\x80\x80\"",
      "\"\xe2\x82\"",
      "\"\xf0\x80\x80\x80\"",
      "\"\xf4\x90\x80\x80\"",
      "\"\xf5\x80\x80\x80\"",
      "\"\xff\"",
      "\"\xf0\x9f\x98\"",
      "{\"\xff\":1}",
      // exponents that cannot be compared exactly
      "1e9999999999999999999",
      "1e-9999999999999999999",
      "1e1000000000000000001",
  };
  for (const std::string& body : bodies) {
    const Canonical result = canonical(body);
    EXPECT_FALSE(result.ok) << body;
    EXPECT_EQ(result.bytes, "") << body;
    EXPECT_THAT(result.leaves, IsEmpty()) << body;
  }
}

TEST(CanonicalJson, SpecialCharactersAreFoundAtEveryPositionOfAWord) {
  for (std::size_t before = 0; before < 20; ++before) {
    const std::string plain(before, 'x');
    EXPECT_EQ(canonical("\"" + plain + "\\u0078\"").bytes, canonical("\"" + plain + "x\"").bytes) << before;
    for (const std::string& bad : {"\n"s, "\x1f"s, "\x80"s, "\0"s, "\"x"s})
      for (const std::string& after : {""s, "yyyyyyyyyyyy"s})
        EXPECT_FALSE(canonical("\"" + plain + bad + after + "\"").ok) << before;
    EXPECT_TRUE(canonical("\"" + plain + "\x7f !#[]~\xc2\x80\xef\xbf\xbf\xf4\x8f\xbf\xbf\"").ok) << before;
  }
}

TEST(CanonicalJson, DepthIsLimited) {
  const auto nested = [](std::size_t depth, char open, char close) {
    return std::string(depth, open) + std::string(depth, close);
  };
  EXPECT_TRUE(canonical(nested(128, '[', ']')).ok);
  EXPECT_FALSE(canonical(nested(129, '[', ']')).ok);
  EXPECT_FALSE(canonical(std::string(1'000'000, '[')).ok);
  std::string objects = "1";
  for (int i = 0; i < 128; ++i) objects = "{\"a\":" + objects + "}";
  EXPECT_TRUE(canonical(objects).ok);
  EXPECT_FALSE(canonical("[" + objects + "]").ok);
}

TEST(CanonicalJson, ManyMembersAreSortedAndCheckedForDuplicates) {
  std::string forward = "{", backward = "{";
  for (int i = 0; i < 1000; ++i) forward += "\"member" + std::to_string(i) + "\":1,";
  for (int i = 999; i >= 0; --i) backward += "\"member" + std::to_string(i) + "\":1,";
  EXPECT_TRUE(canonical(forward + "\"z\":1}").ok);
  EXPECT_EQ(canonical(forward + "\"z\":1}").bytes, canonical(backward + "\"z\":1}").bytes);
  EXPECT_FALSE(canonical(forward + "\"member500\":1}").ok);
}

TEST(Leaves, AreScalarsAndEmptyContainersSortedByPointer) {
  const auto value = canonical(R"({"b":[10,{"c/d":null,"~":""}],"a":{"x":{},"y":[]},"":true})");
  EXPECT_THAT(leaf_pointers(value), ElementsAre("/", "/a/x", "/a/y", "/b/0", "/b/1/c~1d", "/b/1/~0"));
  EXPECT_THAT(leaf_pointers(canonical("7")), ElementsAre(""));
  EXPECT_THAT(leaf_pointers(canonical("{}")), ElementsAre(""));
  EXPECT_EQ(leaf_pointers(canonical("[0,0,0,0,0,0,0,0,0,0,0]"))[2], "/10");  // by bytes, not by number
}

TEST(Leaves, HaveDigestsThatDependOnValueKeyAndTheContainersAbove) {
  const auto digest = [](std::string_view body) { return canonical(body).leaves.at(0).digest; };
  EXPECT_EQ(digest("[100]"), digest("[1e2]"));
  EXPECT_NE(digest("[100]"), digest("[101]"));
  EXPECT_NE(digest("[100]"), digest("[\"100\"]"));
  EXPECT_NE(digest("[{}]"), digest("[[]]"));
  EXPECT_NE(digest(R"({"a":[1]})"), digest(R"({"a":{"0":1}})"));
  std::string out;
  std::vector<Leaf> leaves;
  ASSERT_TRUE(canonicalize_json("[100]", {}, SipKey{1, 3}, out, leaves));
  EXPECT_NE(leaves[0].digest, digest("[100]"));
}

TEST(Leaves, AreNotKeptBeyondTheirLimits) {
  const auto array = [](std::size_t count) {
    std::string text = "[0";
    for (std::size_t i = 1; i < count; ++i) text += ",0";
    return text + "]";
  };
  EXPECT_EQ(canonical(array(64)).leaves.size(), 64u);
  EXPECT_TRUE(canonical(array(65)).ok);
  EXPECT_THAT(canonical(array(65)).leaves, IsEmpty());
  const auto named = [](std::size_t size) { return "{\"" + std::string(size, 'n') + "\":1}"; };
  EXPECT_EQ(canonical(named(4095)).leaves.size(), 1u);
  EXPECT_TRUE(canonical(named(4096)).ok);
  EXPECT_THAT(canonical(named(4096)).leaves, IsEmpty());
}

struct PointerCase {
  PointerSet set;
  std::string left;
  std::string right;
  bool equal;
};

TEST(Pointers, SayWhatCounts) {
  const PointerCase cases[] = {
      {pointers({"/d"}), R"({"a":1,"d":"x"})", R"({"a":1,"d":{"y":[2]}})", true},
      {pointers({"/d"}), R"({"a":1,"d":"x"})", R"({"a":1})", true},
      {pointers({"/d"}), R"({"a":1,"d":"x"})", R"({"a":2,"d":"x"})", false},
      {pointers({"/d"}), R"({"a":{"d":1}})", R"({"a":{"d":2}})", false},
      {pointers({"/a/d"}), R"({"a":{"d":1}})", R"({"a":{}})", true},
      {pointers({"/a/d"}), R"({"a":{"d":1}})", R"({})", false},
      {pointers({"/a~1b/~0"}), R"({"a/b":{"~":1}})", R"({"a/b":{"~":2}})", true},
      {pointers({"/0"}), "[1,2]", "[9,2]", true},
      {pointers({"/0"}), "[1,2]", "[1,3]", false},
      {pointers({"/items/1/at"}), R"({"items":[{"at":1},{"at":2}]})", R"({"items":[{"at":1},{"at":3}]})",
       true},
      {pointers({"/items/1/at"}), R"({"items":[{"at":1},{"at":2}]})", R"({"items":[{"at":2},{"at":2}]})",
       false},
      {pointers({"/01"}), "[1,2]", "[1,3]", false},
      {pointers({""}), "1", R"({"a":2})", true},
      {pointers({}, {"/a"}), R"({"a":1,"b":2})", R"({"b":[3],"a":1.0})", true},
      {pointers({}, {"/a"}), R"({"a":1,"b":2})", R"({"a":2,"b":2})", false},
      {pointers({}, {"/a"}), R"({"a":{}})", R"({})", false},
      {pointers({}, {"/a"}), R"({"b":1})", R"({})", true},
      {pointers({}, {"/a/b"}), R"({"a":{"b":1,"c":2}})", R"({"a":{"b":1}})", true},
      {pointers({}, {"/a/b"}), R"({"a":{"c":2}})", R"({})", true},
      {pointers({}, {"/a/b"}), R"({"a":{"b":{}}})", R"({"a":{}})", false},
      {pointers({}, {"/a/1"}), R"({"a":[1,2]})", R"({"a":[3,2,4]})", true},
      {pointers({}, {"/a", "/a/b"}), R"({"a":{"b":1,"c":2}})", R"({"a":{"b":1,"c":3}})", false},
      {pointers({"/a/c"}, {"/a"}), R"({"a":{"b":1,"c":2}})", R"({"a":{"b":1,"c":3}})", true},
      {pointers({"/a"}, {"/a/b"}), R"({"a":{"b":1}})", R"({"a":{"b":2}})", true},
      {pointers({}, {""}), "[1]", "[2]", false},
  };
  for (const PointerCase& c : cases) {
    const Canonical left = canonical(c.left, c.set);
    const Canonical right = canonical(c.right, c.set);
    ASSERT_TRUE(left.ok && right.ok);
    EXPECT_EQ(left.bytes == right.bytes, c.equal) << c.left << " " << c.right;
    EXPECT_EQ(left.leaves == right.leaves, c.equal) << c.left << " " << c.right;
  }
}

TEST(Pointers, KeepIgnoredLeavesFromBeingNamed) {
  const auto value = canonical(R"({"a":{"b":1,"c":2},"d":3})", pointers({"/a/b"}, {"/a"}));
  EXPECT_THAT(leaf_pointers(value), ElementsAre("/a/c"));
}

}  // namespace
}  // namespace onceward
