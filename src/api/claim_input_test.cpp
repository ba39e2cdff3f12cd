#include "api/claim_input.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

struct Read {
  ClaimInput input;
  std::optional<ClaimRefused> refused;
};

Read read(const std::string& text, const ApiRules& rules = {}) {
  Read result;
  result.refused = read_claim(text, rules, result.input);
  return result;
}

std::string with(const std::string& members) {
  return R"({"operation":"o","key":"k","fingerprint":"f")" + members + "}";
}

TEST(ClaimInput, TakesWhatTheContractNames) {
  const Read got = read(
      R"({"tenant":"t","caller":"c","operation":"o","key":"k 1","fingerprint":"f","lease_ms":5,"ttl_ms":6})");
  ASSERT_FALSE(got.refused) << got.refused->detail;
  EXPECT_EQ(got.input.tenant, "t");
  EXPECT_EQ(got.input.caller, "c");
  EXPECT_EQ(got.input.key, "k 1");
  EXPECT_EQ(got.input.lease, Duration(5));
  EXPECT_EQ(got.input.ttl, Duration(6));
  EXPECT_EQ(read(with("")).input.tenant, std::nullopt) << "absent is not empty";
  EXPECT_EQ(read(with(R"(,"tenant":"")")).input.tenant, "");
}

TEST(ClaimInput, RefusesTheRest) {
  struct Case {
    std::string text;
    ProblemCode code;
  };
  const std::string long_key(256, 'k');
  for (const Case& c : std::vector<Case>{
           {"", ProblemCode::bad_request},
           {"[]", ProblemCode::bad_request},
           {R"({"key":"k","fingerprint":"f"})", ProblemCode::bad_request},
           {R"({"operation":"","key":"k","fingerprint":"f"})", ProblemCode::bad_request},
           {R"({"operation":"o","fingerprint":"f"})", ProblemCode::missing_key},
           {R"({"operation":"o","key":"","fingerprint":"f"})", ProblemCode::invalid_key},
           {R"({"operation":"o","key":"a\u0007","fingerprint":"f"})", ProblemCode::invalid_key},
           {R"({"operation":"o","key":"é","fingerprint":"f"})", ProblemCode::invalid_key},
           {R"({"operation":"o","key":")" + long_key + R"(","fingerprint":"f"})", ProblemCode::invalid_key},
           {R"({"operation":"o","key":"k"})", ProblemCode::bad_request},
           {R"({"operation":"o","key":"k","fingerprint":""})", ProblemCode::bad_request},
           {R"({"operation":"o","key":"k","fingerprint":"f","request":{}})", ProblemCode::bad_request},
           {R"({"operation":"o","key":7,"fingerprint":"f"})", ProblemCode::bad_request},
           {R"({"operation":"onceward.audit","key":"k","fingerprint":"f"})", ProblemCode::bad_request},
           {R"({"operation":"o\np","key":"k","fingerprint":"f"})", ProblemCode::bad_request},
           {with(R"(,"tenant":"t\u0000")"), ProblemCode::bad_request},
           {with(R"(,"caller":"\u007f")"), ProblemCode::bad_request},
           {with(R"(,"lease_ms":0)"), ProblemCode::bad_request},
           {with(R"(,"lease_ms":-1)"), ProblemCode::bad_request},
           {with(R"(,"lease_ms":1.5)"), ProblemCode::bad_request},
           {with(R"(,"ttl_ms":0)"), ProblemCode::bad_request},
           {with(R"(,"tennant":"t")"), ProblemCode::bad_request},
           {R"({"operation":"o","key":"k","request":{"body":"?"}})", ProblemCode::bad_request},
           {R"({"operation":"o","key":"k","request":{"path":"/a?b","query":"c"}})", ProblemCode::bad_request},
       }) {
    const Read got = read(c.text);
    ASSERT_TRUE(got.refused) << c.text;
    EXPECT_EQ(got.refused->code, c.code) << c.text << " " << got.refused->detail;
  }
}

TEST(ClaimInput, TreatsTheTenantAsTheProxyDoes) {
  ApiRules rules;
  rules.tenant_required = true;
  EXPECT_EQ(read(with(""), rules).refused->code, ProblemCode::missing_tenant);
  rules.tenant_is_uuid = true;
  EXPECT_EQ(read(with(R"(,"tenant":"t")"), rules).refused->code, ProblemCode::invalid_tenant);
  const Read got = read(with(R"(,"tenant":"ABCDEFAB-0000-4000-8000-000000000001")"), rules);
  EXPECT_EQ(got.input.tenant, "abcdefab-0000-4000-8000-000000000001");
}

TEST(ClaimInput, TakesTheSameFingerprintFromPartsAsTheProxy) {
  const Scope scope;
  const OperationRule rule;
  const auto of = [&](const std::string& request) {
    const Read got = read(R"({"operation":"o","key":"k","request":)" + request + "}");
    EXPECT_FALSE(got.refused) << got.refused->detail;
    return fingerprint_of(got.input, rule, scope, fingerprint_version)->fingerprint;
  };
  const Fingerprint direct = fingerprint(fingerprint_version,
                                         {.method = "POST",
                                          .operation = "o",
                                          .path = "/p",
                                          .query = "q=1",
                                          .content_type = "application/json",
                                          .body = R"({"a":9007199254740993,"b":1.0})",
                                          .headers = {}},
                                         {}, scope)
                                 ->fingerprint;
  const std::string head = R"({"method":"POST","path":"/p","query":"q=1")";
  EXPECT_EQ(of(head + R"(,"json":{"b":1,"a":9007199254740993}})"), direct);
  EXPECT_EQ(of(R"({"method":"POST","path":"/p?q=1","json":{"b":1,"a":9007199254740993}})"), direct);
  EXPECT_EQ(
      of(head + R"(,"content_type":"application/json","body":"eyJhIjo5MDA3MTk5MjU0NzQwOTkzLCJiIjoxLjB9"})"),
      direct);
  EXPECT_NE(of(head + R"(,"json":{"b":1,"a":9007199254740992}})"), direct) << "numbers are exact";
  EXPECT_NE(of(R"({"method":"PUT","path":"/p?q=1","json":{"b":1,"a":9007199254740993}})"), direct);
}

TEST(ClaimInput, HashesAFingerprintThatIsNoDigest) {
  const std::string hex(64, 'a');
  EXPECT_EQ(
      read(R"({"operation":"o","key":"k","fingerprint":")" + hex + "\"}").input.fingerprint->digest.data[0],
      0xaa);
  EXPECT_EQ(*read(with("")).input.fingerprint, *read(with("")).input.fingerprint);
  EXPECT_NE(*read(with("")).input.fingerprint,
            *read(R"({"operation":"o","key":"k","fingerprint":"g"})").input.fingerprint);
}

}  // namespace
}  // namespace onceward
