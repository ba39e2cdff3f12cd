#include "core/fingerprint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/hex.hpp"
#include "core/scope.hpp"

namespace onceward {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Header = std::pair<std::string_view, std::string_view>;

const Scope scope = scope_of("t", "c", "op", "k", "");

FingerprintInput request(std::string_view content_type, std::string_view body) {
  return {"POST", "payments.create", "/payments", "a=1", content_type, body, {}};
}

FingerprintResult of(const FingerprintInput& input, const FingerprintPolicy& policy = {}) {
  return *fingerprint(fingerprint_version, input, *CompiledFingerprintPolicy::compile(policy), scope);
}

std::array<std::uint8_t, 32> digest(const FingerprintInput& input, const FingerprintPolicy& policy = {}) {
  return of(input, policy).fingerprint.digest.data;
}

TEST(FingerprintOf, EveryPartOfTheRequestMatters) {
  const FingerprintInput base = request("application/json", "{}");
  std::vector<FingerprintInput> inputs(8, base);
  inputs[1].method = "PUT";
  inputs[2].operation = "payments.creat";
  inputs[3].path = "/payments/1";
  inputs[4].query = "a=2";
  inputs[5].content_type = "application/problem+json";
  inputs[6].body = "[]";
  inputs[7].operation = "payments.create/";  // the same bytes as the first, cut elsewhere
  inputs[7].path = "payments";
  std::set<std::array<std::uint8_t, 32>> digests;
  for (const auto& input : inputs) digests.insert(digest(input));
  EXPECT_EQ(digests.size(), inputs.size());
}

TEST(FingerprintOf, CarriesItsVersionAndRefusesOthers) {
  EXPECT_EQ(of(request("", "")).fingerprint.version, fingerprint_version);
  for (std::uint16_t version : std::initializer_list<std::uint16_t>{0, 2, 65535}) {
    const auto result = fingerprint(version, request("", ""), {}, scope);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::invalid);
  }
}

// A record is compared under its own version for as long as it lives: version 1 never changes.
TEST(FingerprintOf, Version1IsFrozen) {
  const auto result = of(request("application/json", R"({"b":[1.50,"\u00e9",null,true,{}],"a":-0})"));
  EXPECT_EQ(to_hex(result.fingerprint.digest.data),
            "e3c3c6d4808b638b0061babd20f969ce60817ffef03ff2d3c2dd8bdea908e888");
  ASSERT_EQ(result.leaves.size(), 6u);
  EXPECT_EQ(result.leaves[1].pointer, "/b/0");
  EXPECT_EQ(result.leaves[1].digest, 8959408005537673589u);
}

TEST(FingerprintOf, Version1IsFrozenForOtherBodiesToo) {
  struct Case {
    std::string_view type;
    std::string_view body;
    std::string_view digest;
  };
  const Case cases[] = {
      {"application/json; charset=utf-8", "{\"a\":1,\"a\":1}",
       "61b13722d90b8ea85ad73e4de5753723d9c138cbf1c53eccbae766c79c6d5324"},
      {"application/x-www-form-urlencoded", "b=x+y&a",
       "8f04aa21d4461b6416d25f6c91a140be3cc2ee30bfb89d5f3b7fce23cdd6a6bb"},
      {"multipart/form-data; boundary=B; Q=1", "--B\r\nN: v\r\n\r\nx\r\n--B--",
       "2c9100615a2acdbb9e79489d55942c224904ec0ae6bc72b3382da5fb97d6b2e2"},
      {"Text/Plain; charset=utf-8", "x", "cad6bb800764fd4281c899fcd949171a4c9dcc31671ae479f13bc6721ecdcac5"},
  };
  for (const Case& c : cases) EXPECT_EQ(to_hex(digest(request(c.type, c.body))), c.digest) << c.type;
}

struct BodyCase {
  std::string_view left_type;
  std::string_view left;
  std::string_view right_type;
  std::string_view right;
  bool equal;
};

TEST(FingerprintOf, BodiesAreComparedByWhatTheyMean) {
  const std::string_view json = "application/json";
  const std::string_view form = "application/x-www-form-urlencoded";
  const BodyCase cases[] = {
      {json, R"({"amount":100})", json, R"({ "amount" : 1e2 })", true},
      {json, R"({"amount":100})", "Application/JSON; charset=utf-8", R"({"amount":100.00})", true},
      {json, R"({"amount":9007199254740993})", json, R"({"amount":9007199254740992})", false},
      {json, R"({"a":1})", "application/x+json", R"({"a":1})", false},
      {json, R"({"a":1,"a":1})", json, R"({"a":1,"a":1})", true},    // raw: the same bytes
      {json, R"({"a":1,"a":1})", json, R"({"a":1, "a":1})", false},  // raw: white space counts
      {json, "", json, " ", false},
      {"text/plain", "{}", "text/plain", "{ }", false},
      {"text/plain", "x", "text/plain;charset=utf-8", "x", false},
      {"TEXT/plain ; a=b", "x", "text/plain; a=b", "x", true},
      {form, "a=1&b=2", form, "b=2&a=1", true},
      {form, "a=1&b=2", "application/x-www-form-urlencoded; charset=utf-8", "b=2&a=1", true},
      {form, "a=%", form, "a=%25", false},
      {"multipart/form-data; boundary=x", "--x\r\n\r\n1\r\n--x--", "multipart/form-data; boundary=\"y\"",
       "--y\r\n\r\n1\r\n--y--", true},
      {"multipart/form-data; boundary=x", "--x\r\n\r\n1\r\n--x--", "multipart/form-data; boundary=x; a=b",
       "--x\r\n\r\n1\r\n--x--", false},
      {"multipart/form-data; boundary=x", "broken", "multipart/form-data; boundary=y", "broken", false},
      {"multipart/mixed; boundary=x", "--x\r\n\r\n1\r\n--x--", "multipart/mixed; boundary=y",
       "--y\r\n\r\n1\r\n--y--", false},
  };
  for (const BodyCase& c : cases)
    EXPECT_EQ(digest(request(c.left_type, c.left)) == digest(request(c.right_type, c.right)), c.equal)
        << c.left_type << " " << c.left;
}

TEST(FingerprintOf, ARawBodyNeverMeetsACanonicalOne) {
  // The canonical bytes of {} and of a=1, sent as bodies that have no canonical form themselves.
  EXPECT_NE(digest(request("application/json", "{}")), digest(request("application/json", "oe")));
  const std::string form(
      "\x01"
      "a="
      "\x01"
      "1%");
  EXPECT_NE(digest(request("application/x-www-form-urlencoded", "a=1%25")),
            digest(request("application/x-www-form-urlencoded", form)));
}

TEST(FingerprintOf, RawModeHashesBytes) {
  FingerprintPolicy raw;
  raw.mode = FingerprintMode::raw;
  const auto one = request("application/json", "{}");
  const auto two = request("application/json", "{ }");
  EXPECT_NE(digest(one, raw), digest(two, raw));
  EXPECT_NE(digest(one, raw), digest(one));
  EXPECT_THAT(of(one, raw).leaves, IsEmpty());
}

TEST(FingerprintOf, TheQueryCanBeLeftOut) {
  FingerprintPolicy policy;
  policy.query = false;
  auto other = request("", "");
  other.query = "";
  EXPECT_EQ(digest(request("", ""), policy), digest(other, policy));
  EXPECT_NE(digest(other, policy), digest(other));
}

TEST(FingerprintOf, NamedHeadersCount) {
  const std::vector<Header> lines{{"X-Version", "1"}}, same{{"x-version", " 1 "}}, other{{"X-Version", "2"}},
      twice{{"X-Version", "1"}, {"X-Version", "1"}};
  const auto with = [](const std::vector<Header>& headers) {
    auto input = request("", "");
    input.headers = headers;
    return digest(input);
  };
  EXPECT_EQ(with(lines), with(same));
  EXPECT_NE(with(lines), with(other));
  EXPECT_NE(with(lines), with(twice));
  EXPECT_NE(with(lines), with({}));
}

TEST(FingerprintOf, IgnoreAndIncludeAreCompiledWithThePolicy) {
  FingerprintPolicy policy;
  policy.ignore = {"/description"};
  EXPECT_EQ(digest(request("application/json", R"({"a":1,"description":"x"})"), policy),
            digest(request("application/json", R"({"a":1})"), policy));
  policy.include = {"a"};
  const auto compiled = CompiledFingerprintPolicy::compile(policy);
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code, Errc::invalid);
}

TEST(FingerprintOf, ALargeBodyIsNoProblem) {
  std::string body = "[";
  for (int i = 0; i < 300'000; ++i) body += "{\"a\":1},";
  body += "0]";
  EXPECT_EQ(digest(request("application/json", body)), digest(request("application/json", " " + body)));
  EXPECT_EQ(digest(request("application/json", "[1]")), digest(request("application/json", "[1.0]")));
}

std::vector<std::string> changed(std::string_view before, std::string_view after) {
  return changed_pointers(of(request("application/json", before)).leaves,
                          of(request("application/json", after)).leaves);
}

TEST(ChangedPointers, NameWhatChangedAppearedOrDisappeared) {
  EXPECT_THAT(changed(R"({"a":1,"b":2,"c":3})", R"({"b":2.5,"c":3.0,"d":4})"), ElementsAre("/a", "/b", "/d"));
  EXPECT_THAT(changed(R"({"a":[1,2]})", R"({"a":[1]})"), ElementsAre("/a/1"));
  EXPECT_THAT(changed(R"({"a":[]})", R"({"a":[1]})"), ElementsAre("/a", "/a/0"));
  EXPECT_THAT(changed(R"({"a":[1]})", R"({"a":{"0":1}})"), ElementsAre("/a/0"));
  EXPECT_THAT(changed("1", "2"), ElementsAre(""));
  EXPECT_THAT(changed(R"({"a":1})", R"({"a":1.0})"), IsEmpty());
}

TEST(ChangedPointers, NameNothingWhenTheLeavesOfOneAreNotKnown) {
  EXPECT_THAT(changed(R"({"a":1})", "not json"), IsEmpty());
  EXPECT_THAT(changed("not json", R"({"a":1})"), IsEmpty());
}

}  // namespace
}  // namespace onceward
