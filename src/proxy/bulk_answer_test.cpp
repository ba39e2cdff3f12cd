#include "proxy/bulk_answer.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

std::shared_ptr<const Response> response(std::uint16_t status, std::string type = "application/json",
                                         std::string body = R"({"n": 1.0})") {
  Response response;
  response.status = status;
  if (!type.empty()) response.headers = "Content-Type: " + type + "\r\n";
  response.body = std::move(body);
  return std::make_shared<const Response>(std::move(response));
}

Record record_in(State state, std::shared_ptr<const Response> answer = nullptr) {
  Record record;
  record.epoch = 1;
  record.state = state;
  record.response = std::move(answer);
  return record;
}

Executed executed(Effect effect) { return {record_in(State::processing), std::move(effect), true}; }

TEST(BulkAnswer, what_each_outcome_of_an_item_means) {
  struct Case {
    const char* what;
    Outcome outcome;
    ItemState state;
    int status;
    std::string_view code;
    bool has_record;
  };
  const Case cases[] = {
      {"answered", executed(Answer{response(201), OutcomeClass::replay, {}}), ItemState::succeeded, 201, "",
       true},
      {"failed", executed(Answer{response(404), OutcomeClass::replay, {}}), ItemState::failed, 404, "", true},
      {"may be repeated", executed(Answer{response(503), OutcomeClass::retry, {}}), ItemState::retryable, 503,
       "", true},
      {"said to be unknown", executed(Answer{response(502), OutcomeClass::unknown, {}}), ItemState::unknown,
       502, "", true},
      {"no answer", executed(NoAnswer{}), ItemState::unknown, 0, "IDEMPOTENCY_OUTCOME_UNKNOWN", true},
      {"replayed", Replayed{record_in(State::succeeded, response(200))}, ItemState::succeeded, 200, "", true},
      {"replayed failure", Replayed{record_in(State::failed, response(422))}, ItemState::failed, 422, "",
       true},
      {"held", Rejected{Rejection::unknown, record_in(State::unknown)}, ItemState::unknown, 0,
       "IDEMPOTENCY_OUTCOME_UNKNOWN", true},
      {"expired", Rejected{Rejection::expired, record_in(State::expired)}, ItemState::expired, 0,
       "IDEMPOTENCY_RECORD_EXPIRED", true},
      {"not stored", Rejected{Rejection::not_stored, record_in(State::succeeded, response(200, "", ""))},
       ItemState::succeeded, 200, "IDEMPOTENCY_RESPONSE_NOT_STORED", true},
      {"another item", Rejected{Rejection::mismatch, record_in(State::succeeded)}, ItemState::failed, 0,
       "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST", true},
      {"a fact that has come true", Rejected{Rejection::duplicate_fact, record_in(State::succeeded)},
       ItemState::failed, 0, "DUPLICATE_BUSINESS_OPERATION", true},
      {"a fact that came true long ago", Rejected{Rejection::duplicate_fact, Record{}}, ItemState::failed, 0,
       "DUPLICATE_BUSINESS_OPERATION", true},
      {"a fact that may come true", Rejected{Rejection::duplicate_fact, record_in(State::processing)},
       ItemState::retryable, 0, "DUPLICATE_BUSINESS_OPERATION", true},
      {"suspected", Rejected{Rejection::suspected, record_in(State::succeeded)}, ItemState::retryable, 0,
       "SUSPECTED_DUPLICATE", true},
      {"running", StillRunning{record_in(State::processing)}, ItemState::retryable, 0,
       "IDEMPOTENCY_REQUEST_IN_PROGRESS", true},
      {"not sent", Unreachable{"refused"}, ItemState::retryable, 0, "UPSTREAM_UNREACHABLE", false},
      {"no store", StoreFailed{{Errc::unavailable, ""}}, ItemState::retryable, 0,
       "IDEMPOTENCY_STORE_UNAVAILABLE", false},
      {"damaged", StoreFailed{{Errc::unreadable, ""}}, ItemState::retryable, 0,
       "IDEMPOTENCY_RECORD_UNREADABLE", false},
  };
  for (const Case& c : cases) {
    const ItemResult result = item_result(c.outcome);
    EXPECT_EQ(result.state, c.state) << c.what;
    EXPECT_EQ(result.status, c.status) << c.what;
    EXPECT_EQ(result.code, c.code) << c.what;
    EXPECT_EQ(!result.operation_id.empty(), c.has_record) << c.what;
  }
}

TEST(BulkAnswer, has_a_fixed_shape_in_the_order_of_the_request) {
  const std::vector<BulkItem> items = {{"{}", R"("a")", "a", "/"}, {"{}", "2", "2", "/"}};
  const std::vector<ItemResult> results = {
      {.state = ItemState::succeeded, .status = 200, .response = response(200), .operation_id = "op"},
      {.state = ItemState::retryable, .code = "UPSTREAM_UNREACHABLE"}};
  EXPECT_EQ(
      bulk_answer(items, results, 10'000),
      R"({"items":[{"id":"a","state":"succeeded","status":200,"body":{"n": 1.0},"retryable":false,"operationId":"op","code":null},)"
      R"({"id":2,"state":"retryable","status":null,"body":null,"retryable":true,"operationId":null,"code":"UPSTREAM_UNREACHABLE"}],)"
      R"("summary":{"total":2,"succeeded":1,"failed":0,"retryable":1,"unknown":0,"expired":0}})");
  EXPECT_EQ(
      bulk_answer({}, {}, 10'000),
      R"({"items":[],"summary":{"total":0,"succeeded":0,"failed":0,"retryable":0,"unknown":0,"expired":0}})");
}

TEST(BulkAnswer, a_body_is_json_as_it_came_or_text_or_base64) {
  struct Case {
    const char* type;
    std::string body;
    const char* shown;
  };
  const Case cases[] = {
      {"application/json; charset=utf-8", "[1,  2]", R"("body":[1,  2],)"},
      {"application/problem+json", R"({"code":"X"})", R"("body":{"code":"X"},)"},
      {"application/json", "{broken", R"("body":"{broken",)"},
      {"text/plain", "done \"well\"", R"("body":"done \"well\"",)"},
      {"application/octet-stream", "\xff\xfe", R"("body":"//4=","bodyEncoding":"base64",)"},
      {"", "", R"("body":null,)"},
  };
  const std::vector<BulkItem> items = {{"{}", "1", "1", "/"}};
  for (const Case& c : cases) {
    const std::vector<ItemResult> results = {
        {.state = ItemState::succeeded, .status = 200, .response = response(200, c.type, c.body)}};
    EXPECT_NE(bulk_answer(items, results, 10'000).find(c.shown), std::string::npos) << c.body;
  }
}

TEST(BulkAnswer, too_large_with_bodies_is_told_without_them) {
  const std::vector<BulkItem> items = {{"{}", "1", "1", "/"}};
  const std::vector<ItemResult> results = {{.state = ItemState::succeeded,
                                            .status = 200,
                                            .response = response(200, "text/plain", std::string(500, 'x'))}};
  const std::string told = bulk_answer(items, results, 500);
  EXPECT_LT(told.size(), 500u);
  EXPECT_NE(told.find(R"("state":"succeeded","status":200,"body":null)"), std::string::npos);
}

TEST(BulkAnswer, is_final_when_no_later_attempt_could_tell_anything_else) {
  const auto is_final = [](ItemState state) {
    const std::vector<ItemResult> results = {{.state = ItemState::succeeded}, {.state = state}};
    return summarize(results).is_final();
  };
  EXPECT_TRUE(is_final(ItemState::succeeded));
  EXPECT_TRUE(is_final(ItemState::failed));
  EXPECT_TRUE(is_final(ItemState::expired));
  EXPECT_FALSE(is_final(ItemState::retryable));
  EXPECT_FALSE(is_final(ItemState::unknown));
}

TEST(BulkAnswer, nothing_was_sent_when_no_item_could_be) {
  const ItemResult unsent{.code = "UPSTREAM_UNREACHABLE"};
  const ItemResult not_begun{};
  EXPECT_TRUE(nothing_was_sent(std::vector{unsent, unsent}));
  EXPECT_FALSE(nothing_was_sent(std::vector{unsent, not_begun}));
  EXPECT_FALSE(nothing_was_sent(std::vector{unsent, ItemResult{.state = ItemState::succeeded}}));
  EXPECT_FALSE(nothing_was_sent({}));
}

}  // namespace
}  // namespace onceward
