#include "core/outcome_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json_value.hpp"

namespace onceward {
namespace {

using ::testing::HasSubstr;

class OutcomeEvents : public ::testing::Test {
 protected:
  OutcomeEvents() {
    id.data.fill(0x11);
    request.operation = "payments.create";
    response.status = 201;
    response.headers = "Content-Type: application/json; charset=utf-8\r\nlocation: /payments/7\r\n";
    response.body = R"({"id": 7, "amount": 10.50})";
  }
  std::shared_ptr<const Events> made(State as = State::succeeded, const std::vector<Emission>& emitted = {}) {
    return events_of({id, request, as, &response, result ? &*result : nullptr, when}, rules, emitted);
  }
  std::string only() {
    const auto events = made();
    EXPECT_TRUE(events && events->size() == 1);
    return events->front().payload;
  }
  // "-" when there is no such member.
  static std::string at(const std::string& payload, const std::string& name) {
    const Result<std::string> value = json_value_at(payload, "/" + name);
    return value ? *value : "-";
  }

  OperationId id;
  RequestInfo request;
  Response response;
  std::optional<OperationResult> result;
  Timestamp when{std::chrono::sys_days{std::chrono::year{2026} / 1 / 31} + std::chrono::hours(12)};
  std::vector<EventRule> rules = {{EventOn::succeeded, "payment.created"}};
};

TEST_F(OutcomeEvents, an_event_is_a_cloud_event_with_a_stable_id_and_the_answer_as_its_data) {
  const auto events = made();
  ASSERT_EQ(events->size(), 1u);
  const Event& event = events->front();
  EXPECT_EQ(event.id, "11111111-1111-1111-1111-111111111111:payment.created");
  EXPECT_EQ(event.type, "payment.created");
  EXPECT_EQ(event.content_type, "application/cloudevents+json");
  const std::string& told = event.payload;
  EXPECT_EQ(at(told, "specversion"), "1.0");
  EXPECT_EQ(at(told, "id"), event.id);
  EXPECT_EQ(at(told, "type"), "payment.created");
  EXPECT_EQ(at(told, "source"), "/onceward/operations/payments.create");
  EXPECT_EQ(at(told, "time"), "2026-01-31T12:00:00.000Z");
  EXPECT_EQ(at(told, "subject"), "/payments/7");
  EXPECT_EQ(at(told, "operationid"), "11111111-1111-1111-1111-111111111111");
  EXPECT_EQ(at(told, "datacontenttype"), "application/json; charset=utf-8");
  EXPECT_EQ(at(told, "tenant"), "-");
  EXPECT_THAT(event.payload, HasSubstr(R"("data":{"id": 7, "amount": 10.50}})"));  // as the upstream wrote it
}

TEST_F(OutcomeEvents, the_tenant_and_the_resource_are_named) {
  request.tenant = "acme";
  result = OperationResult{"payment", "p-7", ""};
  const std::string told = only();
  EXPECT_EQ(at(told, "tenant"), "acme");
  EXPECT_EQ(at(told, "subject"), "payment/p-7");
}

TEST_F(OutcomeEvents, what_is_not_json_travels_as_base64) {
  struct Case {
    const char* headers;
    const char* body;
    const char* base64;
  };
  for (const auto& [headers, body, base64] :
       {Case{"Content-Type: text/plain\r\n", "{}", "e30="},
        Case{"Content-Type: application/json\r\n", "{", "ew=="},
        Case{"Content-Type: application/json\r\n", R"({"a":1,"a":2})", "eyJhIjoxLCJhIjoyfQ=="},
        Case{"", "\xff", "/w=="}}) {
    response.headers = headers;
    response.body = body;
    const std::string told = only();
    EXPECT_EQ(at(told, "data_base64"), base64) << body;
    EXPECT_EQ(at(told, "data"), "-") << body;
  }
}

TEST_F(OutcomeEvents, a_body_that_was_not_kept_or_is_empty_has_no_data) {
  response.body.clear();
  EXPECT_EQ(at(only(), "data"), "-");
  response.body_omitted = true;
  EXPECT_EQ(at(only(), "data_base64"), "-");
}

TEST_F(OutcomeEvents, rules_apply_to_their_outcome_only) {
  rules = {{EventOn::succeeded, "made"}, {EventOn::failed, "lost"}, {EventOn::failed, "sad"}};
  EXPECT_EQ(made(State::succeeded)->size(), 1u);
  EXPECT_EQ(made(State::failed)->size(), 2u);
  rules.clear();
  EXPECT_EQ(made(), nullptr);
}

TEST_F(OutcomeEvents, an_emitted_event_has_its_own_data_and_takes_the_place_of_a_rules) {
  const auto events = made(State::succeeded,
                           {{"payment.created", "[1]"}, {"audit.noted", "\x01", "application/octet-stream"}});
  ASSERT_EQ(events->size(), 2u);
  EXPECT_THAT(events->at(0).payload, HasSubstr(R"("data":[1]})"));
  EXPECT_EQ(at(events->at(1).payload, "data_base64"), "AQ==");
  EXPECT_EQ(events->at(1).id, "11111111-1111-1111-1111-111111111111:audit.noted");
}

TEST_F(OutcomeEvents, the_name_of_an_operation_becomes_part_of_a_uri) {
  request.operation = "POST /orders/{id}";
  EXPECT_EQ(at(only(), "source"), "/onceward/operations/POST%20/orders/%7Bid%7D");
}

TEST(EventType, is_short_visible_ascii) {
  EXPECT_TRUE(is_event_type("com.example.order-created/v1"));
  EXPECT_TRUE(is_event_type(std::string(200, 'x')));
  for (const std::string& bad : {std::string(), std::string(201, 'x'), std::string("a b"), std::string("a\n"),
                                 std::string("\xc3\xa9"), std::string("\x7f")})
    EXPECT_FALSE(is_event_type(bad)) << bad;
}

}  // namespace
}  // namespace onceward
