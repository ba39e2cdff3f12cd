#include "proxy/capture.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

std::string replay_lines(const Response& response, const ReplayPolicy& policy = {}) {
  std::string lines;
  append_replay_lines(lines, response, policy);
  return lines;
}

using namespace std::chrono_literals;
using Lines = std::vector<std::pair<std::string, std::string>>;

CapturedHead capture(int status, const Lines& lines, const Policy& policy = {}) {
  http::ResponseHead head;
  head.status = status;
  for (const auto& [name, value] : lines) head.headers.add(name, value);
  return capture_head(head, policy);
}

TEST(Capture, keeps_repetition_order_and_exact_values) {
  const CapturedHead captured =
      capture(201, {{"X-B", "1, 2"}, {"X-A", "z"}, {"X-B", "3"}, {"ETag", "W/\"x\""}, {"X-Empty", ""}});
  EXPECT_EQ(captured.stored_lines, "X-B: 1, 2\r\nX-A: z\r\nX-B: 3\r\nETag: W/\"x\"\r\nX-Empty: \r\n");
  EXPECT_EQ(captured.first_lines, captured.stored_lines);
}

TEST(Capture, what_goes_to_the_first_caller_and_what_is_kept) {
  struct Case {
    const char* name;
    const char* value;
    bool first;
    bool stored;
  };
  const Case cases[] = {
      {"Content-Type", "text/plain", true, true},
      {"Date", "Sun, 06 Nov 1994 08:49:37 GMT", true, false},
      {"Set-Cookie", "a=b", true, false},
      {"Connection", "X-Hop", false, false},
      {"X-Hop", "1", false, false},
      {"Keep-Alive", "timeout=5", false, false},
      {"Transfer-Encoding", "chunked", false, false},
      {"Content-Length", "5", false, false},
      {"Trailer", "X-T", false, false},
      {"Onceward-Outcome", "replay", false, false},
      {"onceward-ttl", "5", false, false},
      {"Onceward-Operation-Id", "forged", false, false},
      {"Onceward-Stored", "false", false, false},
      {"Location", "/orders/1", true, true},
  };
  Lines lines;
  for (const Case& c : cases) lines.emplace_back(c.name, c.value);
  const CapturedHead captured = capture(200, lines);
  for (const Case& c : cases) {
    EXPECT_EQ(line_value(captured.first_lines, c.name).has_value(), c.first) << c.name;
    EXPECT_EQ(line_value(captured.stored_lines, c.name).has_value(), c.stored) << c.name;
  }
}

TEST(Capture, cookies_are_kept_when_the_policy_says_so) {
  Policy policy;
  policy.replay.keep_cookies = true;
  EXPECT_EQ(capture(200, {{"Set-Cookie", "a=b"}, {"Set-Cookie", "c=d"}}, policy).stored_lines,
            "Set-Cookie: a=b\r\nSet-Cookie: c=d\r\n");
}

TEST(Capture, the_upstream_may_overrule_outcome_and_ttl) {
  EXPECT_EQ(capture(200, {}).outcome, OutcomeClass::replay);
  EXPECT_EQ(capture(503, {}).outcome, OutcomeClass::retry);
  EXPECT_EQ(capture(504, {}).outcome, OutcomeClass::unknown);
  EXPECT_EQ(capture(503, {{"Onceward-Outcome", "replay"}}).outcome, OutcomeClass::replay);
  EXPECT_EQ(capture(200, {{"Onceward-Outcome", "retry"}}).outcome, OutcomeClass::retry);
  EXPECT_EQ(capture(200, {{"Onceward-Outcome", "unknown"}}).outcome, OutcomeClass::unknown);
  EXPECT_EQ(capture(503, {{"Onceward-Outcome", "nonsense"}}).outcome, OutcomeClass::retry);
  EXPECT_EQ(capture(200, {{"Onceward-Ttl", "60"}}).ttl, 60s);
  for (const char* bad : {"0", "-1", "1.5", "x", "", "99999999999999999999"}) {
    EXPECT_EQ(capture(200, {{"Onceward-Ttl", bad}}).ttl, std::nullopt) << bad;
  }
}

TEST(Replay, adds_the_marker_once) {
  const Response response{201, false, "X-A: 1\r\nIdempotent-Replayed: maybe\r\n", ""};
  EXPECT_EQ(replay_lines(response), "X-A: 1\r\nIdempotent-Replayed: true\r\n");
  ReplayPolicy renamed;
  renamed.header = "X-Replay";
  EXPECT_EQ(replay_lines({200, false, "X-A: 1\r\n", ""}, renamed), "X-A: 1\r\nX-Replay: true\r\n");
}

TEST(Replay, status_200_turns_created_into_ok_and_nothing_else) {
  ReplayPolicy policy;
  EXPECT_EQ(replay_status(201, policy), 201);
  policy.status_200 = true;
  EXPECT_EQ(replay_status(201, policy), 200);
  EXPECT_EQ(replay_status(204, policy), 204);
  EXPECT_EQ(replay_status(404, policy), 404);
}

TEST(Replay, of_an_answer_too_large_only_the_location_is_kept) {
  EXPECT_EQ(location_line("X-A: 1\r\nlocation: /o/1\r\nX-B: 2\r\n"), "Location: /o/1\r\n");
  EXPECT_EQ(location_line("X-A: 1\r\n"), "");
}

TEST(Capture, what_an_answer_says_of_its_result) {
  struct Case {
    int status;
    Lines lines;
    const char* body;
    std::optional<OperationResult> result;
  };
  const Case cases[] = {
      {201, {{"Location", "/v1/orders/42"}}, "", OperationResult{"orders", "42", ""}},
      {201, {{"Location", "/42"}}, "", std::nullopt},
      {303, {{"Location", "/v1/orders/42"}}, "", std::nullopt},
      {200, {{"Onceward-Resource", "order/7"}}, "", OperationResult{"order", "7", ""}},
      {201,
       {{"Onceward-Resource", "order/7"}, {"Location", "/v1/orders/42"}},
       "",
       OperationResult{"order", "7", ""}},
      {201,
       {{"Onceward-Resource", "broken"}, {"Location", "/v1/orders/42"}},
       "",
       OperationResult{"orders", "42", ""}},
      {200, {{"Onceward-Failure", "NONE"}}, "", std::nullopt},
      {409, {{"onceward-failure", "TAKEN"}}, "", OperationResult{"", "", "TAKEN"}},
      {409,
       {{"Onceward-Failure", "TAKEN"}, {"Content-Type", "application/problem+json"}},
       R"({"code":"OTHER"})",
       OperationResult{"", "", "TAKEN"}},
      {422,
       {{"Content-Type", "Application/Problem+JSON; charset=utf-8"}},
       R"({"code":"EMPTY"})",
       OperationResult{"", "", "EMPTY"}},
      {409,
       {{"Onceward-Resource", "order/7"}, {"Content-Type", "application/problem+json"}},
       R"({"type":"/taken"})",
       OperationResult{"order", "7", "/taken"}},
      {422, {{"Content-Type", "application/json"}}, R"({"code":"EMPTY"})", std::nullopt},
      {200, {{"Content-Type", "application/problem+json"}}, R"({"code":"EMPTY"})", std::nullopt},
      {200, {{"X-A", "b"}}, "", std::nullopt},
  };
  for (const Case& c : cases) {
    const CapturedHead captured = capture(c.status, c.lines);
    const std::shared_ptr<const OperationResult> result = result_of(captured, c.status, c.body);
    EXPECT_EQ(result ? std::optional(*result) : std::nullopt, c.result)
        << c.status << " " << c.lines.front().first << " " << c.body;
    EXPECT_EQ(captured.first_lines.find("Onceward-"), std::string::npos);
    EXPECT_EQ(captured.stored_lines.find("nceward-"), std::string::npos);
  }
}

}  // namespace
}  // namespace onceward
