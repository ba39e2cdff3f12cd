#include "ops/problem.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>

namespace onceward {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

struct CodeCase {
  const char* text;
  int status;
  bool retryable;
  bool retry_after;
};

class ProblemCodes : public testing::TestWithParam<CodeCase> {};

TEST_P(ProblemCodes, AreWhatTheContractSays) {
  const auto code = problem_code_from_text(GetParam().text);
  ASSERT_TRUE(code);
  const ProblemKind& kind = problem_kind(*code);
  EXPECT_EQ(kind.code, *code);
  EXPECT_EQ(kind.status, GetParam().status);
  EXPECT_EQ(kind.retryable, GetParam().retryable);
  EXPECT_EQ(kind.retry_after, GetParam().retry_after);
}

INSTANTIATE_TEST_SUITE_P(Contract, ProblemCodes,
                         testing::Values(CodeCase{"MISSING_IDEMPOTENCY_KEY", 400, false, false},
                                         CodeCase{"INVALID_IDEMPOTENCY_KEY", 400, false, false},
                                         CodeCase{"MISSING_TENANT", 400, false, false},
                                         CodeCase{"INVALID_TENANT", 400, false, false},
                                         CodeCase{"UNAUTHENTICATED", 401, false, false},
                                         CodeCase{"IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST", 422, false,
                                                  false},
                                         CodeCase{"IDEMPOTENCY_REQUEST_IN_PROGRESS", 409, true, true},
                                         CodeCase{"IDEMPOTENCY_OUTCOME_UNKNOWN", 409, false, false},
                                         CodeCase{"IDEMPOTENCY_RESPONSE_NOT_STORED", 409, false, false},
                                         CodeCase{"IDEMPOTENCY_RECORD_EXPIRED", 410, false, false},
                                         CodeCase{"DUPLICATE_BUSINESS_OPERATION", 409, false, false},
                                         CodeCase{"SUSPECTED_DUPLICATE", 409, false, false},
                                         CodeCase{"IDEMPOTENCY_KEY_RATE_EXCEEDED", 429, true, true},
                                         CodeCase{"REQUEST_TOO_LARGE", 413, false, false},
                                         CodeCase{"IDEMPOTENCY_STORE_UNAVAILABLE", 503, true, true},
                                         CodeCase{"IDEMPOTENCY_RECORD_UNREADABLE", 503, true, false},
                                         CodeCase{"UPSTREAM_UNREACHABLE", 502, true, false}));
INSTANTIATE_TEST_SUITE_P(Protocol, ProblemCodes,
                         testing::Values(CodeCase{"BAD_REQUEST", 400, false, false},
                                         CodeCase{"REQUEST_TIMEOUT", 408, true, false},
                                         CodeCase{"HEADERS_TOO_LARGE", 431, false, false},
                                         CodeCase{"EXPECTATION_FAILED", 417, false, false},
                                         CodeCase{"SERVICE_OVERLOADED", 503, true, true},
                                         CodeCase{"NOT_FOUND", 404, false, false},
                                         CodeCase{"METHOD_NOT_ALLOWED", 405, false, false},
                                         CodeCase{"INTERNAL_ERROR", 500, true, false},
                                         CodeCase{"UPSTREAM_TIMEOUT", 504, false, false},
                                         CodeCase{"STALE_CLAIM", 409, false, false},
                                         CodeCase{"INVALID_BULK_REQUEST", 400, false, false},
                                         CodeCase{"DUPLICATE_BULK_ITEM", 400, false, false}));

TEST(Problem, EveryCodeHasAnOwnTextAndWordsForPeople) {
  std::set<std::string_view> texts;
  for (const ProblemKind& kind : problem_kinds()) {
    EXPECT_TRUE(texts.insert(kind.text).second) << kind.text;
    EXPECT_FALSE(kind.title.empty() || kind.detail.empty() || kind.advice.empty()) << kind.text;
    EXPECT_EQ(kind.detail.find_first_of("<>&"), std::string_view::npos) << "the page does not escape";
  }
}

// A new key is only called safe when no earlier attempt under the old one can have had an effect.
TEST(Problem, ANewKeyIsNeverCalledSafeWhileTheFirstMayHaveRun) {
  using enum ProblemCode;
  for (ProblemCode code :
       {in_progress, outcome_unknown, response_not_stored, record_expired, store_unavailable,
        record_unreadable, key_reused, unauthenticated, request_timeout, service_overloaded, upstream_timeout,
        internal_error, duplicate_business_operation}) {
    EXPECT_FALSE(problem_kind(code).safe_new_key) << problem_kind(code).text;
  }
  EXPECT_TRUE(problem_kind(upstream_unreachable).safe_new_key);
}

TEST(Problem, HasTheMembersOfTheStandardAndOurs) {
  const boost::json::value json = boost::json::parse(
      problem_json({.code = ProblemCode::outcome_unknown, .status = 504, .operation_id = "0192-id"}));
  EXPECT_EQ(json.at("type").as_string(), "/.well-known/onceward/problems/IDEMPOTENCY_OUTCOME_UNKNOWN");
  EXPECT_EQ(json.at("title").as_string(), "Outcome unknown");
  EXPECT_EQ(json.at("status").as_int64(), 504);
  EXPECT_EQ(json.at("code").as_string(), "IDEMPOTENCY_OUTCOME_UNKNOWN");
  EXPECT_EQ(json.at("operationId").as_string(), "0192-id");
  EXPECT_FALSE(json.at("retryable").as_bool());
  EXPECT_FALSE(json.at("safeNewKey").as_bool());
  EXPECT_FALSE(json.at("detail").as_string().empty());
  EXPECT_FALSE(json.as_object().contains("changed"));
  EXPECT_FALSE(json.as_object().contains("originalStatus"));
}

TEST(Problem, EscapesWhatComesFromRequestsAndUpstreams) {
  const std::vector<std::string> changed = {"/a\"b", "/\xff"};
  const boost::json::value json = boost::json::parse(problem_json({.code = ProblemCode::response_not_stored,
                                                                   .detail = "line\nbreak",
                                                                   .changed = changed,
                                                                   .original_status = 201,
                                                                   .location = "/x?\"\\"}));
  EXPECT_EQ(json.at("detail").as_string(), "line\nbreak");
  EXPECT_EQ(json.at("changed").at(0).as_string(), "/a\"b");
  EXPECT_EQ(json.at("changed").at(1).as_string(), "/\xef\xbf\xbd");
  EXPECT_EQ(json.at("originalStatus").as_int64(), 201);
  EXPECT_EQ(json.at("location").as_string(), "/x?\"\\");
}

TEST(Problem, TheCallerMayKnowBetterThanTheTable) {
  const boost::json::value json =
      boost::json::parse(problem_json({.code = ProblemCode::upstream_unreachable, .safe_new_key = false}));
  EXPECT_FALSE(json.at("safeNewKey").as_bool());
}

TEST(ProblemHeaders, NameTheTypeForbidCachingAndDescribe) {
  EXPECT_EQ(problem_headers({.code = ProblemCode::missing_key}),
            "Content-Type: application/problem+json\r\nCache-Control: no-store\r\n"
            "Link: </.well-known/onceward/problems/MISSING_IDEMPOTENCY_KEY>; rel=\"describedby\"\r\n");
}

TEST(ProblemHeaders, RetryAfterIsWholeSecondsRoundedUp) {
  const auto line = [](std::optional<std::chrono::milliseconds> delay) {
    const std::string headers = problem_headers({.code = ProblemCode::in_progress, .retry_after = delay});
    return headers.substr(headers.find("Retry-After"));
  };
  EXPECT_EQ(line(std::nullopt), "Retry-After: 1\r\n");
  EXPECT_EQ(line(0ms), "Retry-After: 1\r\n");
  EXPECT_EQ(line(1001ms), "Retry-After: 2\r\n");
  EXPECT_EQ(line(30s), "Retry-After: 30\r\n");
  EXPECT_THAT(problem_headers({.code = ProblemCode::outcome_unknown, .retry_after = 5s}),
              Not(HasSubstr("Retry-After")));
}

TEST(ProblemHeaders, A401Challenges) {
  EXPECT_THAT(problem_headers({.code = ProblemCode::unauthenticated}),
              HasSubstr("WWW-Authenticate: Bearer\r\n"));
  EXPECT_THAT(problem_headers({.code = ProblemCode::missing_key}), Not(HasSubstr("WWW-Authenticate")));
}

TEST(ProblemPages, ExistForEveryCodeAndNoOther) {
  for (const ProblemKind& kind : problem_kinds()) {
    const auto json = problem_page_json(kind.text);
    ASSERT_TRUE(json) << kind.text;
    EXPECT_EQ(boost::json::parse(*json).at("status").as_int64(), kind.status);
    const auto html = problem_page_html(kind.text);
    ASSERT_TRUE(html) << kind.text;
    EXPECT_THAT(*html, HasSubstr(std::string(kind.text)));
  }
  for (const char* text : {"", "NOPE", "missing_idempotency_key", "<script>", "MISSING_IDEMPOTENCY_KEY/"}) {
    EXPECT_FALSE(problem_page_json(text)) << text;
    EXPECT_FALSE(problem_page_html(text)) << text;
  }
}

}  // namespace
}  // namespace onceward
