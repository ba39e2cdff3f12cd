#include "onceward/http.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <stdexcept>

#include "base/system.hpp"
#include "support/model_store.hpp"

namespace onceward {
namespace {

using ::testing::HasSubstr;

const std::string tenant = "0190b5a3-6f3e-7c2e-9d1a-2f6c1a7e4b10";

std::string header(const HttpResponse& response, const std::string& name) {
  for (const auto& [other, value] : response.headers)
    if (other == name) return value;
  return {};
}

HttpRequest post(std::string key, std::string body = R"({"item": "book"})") {
  HttpRequest request{
      "POST", "/orders", {{"X-Tenant-ID", tenant}, {"Content-Type", "application/json"}}, body};
  request.headers.emplace_back("Idempotency-Key", std::move(key));
  return request;
}

EngineOptions options() {
  EngineOptions made;
  OperationPolicy orders{"orders.create", "POST /orders", {}};
  orders.policy.in_progress.wait = Duration(0);
  orders.policy.mismatch_status = 409;
  orders.policy.replay.status_200 = true;
  made.operations.push_back(orders);
  made.max_response = 64;
  return made;
}

class HttpGuardTest : public ::testing::Test {
 protected:
  HttpResponse handle(const HttpRequest& request) { return guard_.handle(request, service_); }

  int calls_ = 0;
  HttpGuard::Service service_ = [this](const HttpRequest& request) {
    ++calls_;
    seen_ = request;
    return HttpResponse{
        201,
        {{"Content-Type", "application/json"}, {"Location", "/orders/1"}, {"Set-Cookie", "a=b"}},
        "order " + std::to_string(calls_)};
  };
  HttpRequest seen_;
  Engine engine_ = std::move(*Engine::open(options()));
  HttpGuard guard_{engine_, {.tenant_required = true, .tenant_is_uuid = true}};
};

TEST_F(HttpGuardTest, a_retry_gets_the_kept_answer_and_is_marked) {
  const HttpResponse first = handle(post("k"));
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(header(first, "Set-Cookie"), "a=b");
  const HttpResponse again = handle(post("\"k\"", R"({ "item":"book" })"));
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(header(again, "Idempotent-Replayed"), "true");
  EXPECT_EQ(header(again, "Location"), "/orders/1");
  EXPECT_EQ(header(again, "Set-Cookie"), "");
  EXPECT_EQ(header(again, "Onceward-Operation-Id"), header(first, "Onceward-Operation-Id"));
  EXPECT_EQ(calls_, 1);
}

TEST_F(HttpGuardTest, the_service_is_told_the_operation_and_no_client_can_pretend_one) {
  HttpRequest request = post("k");
  request.headers.emplace_back("onceward-operation-id", "mine");
  const HttpResponse first = handle(request);
  int told = 0;
  for (const auto& [name, value] : seen_.headers) {
    if (name == "Onceward-Operation-Id") {
      EXPECT_EQ(value, header(first, "Onceward-Operation-Id"));
      ++told;
    }
    EXPECT_NE(value, "mine");
  }
  EXPECT_EQ(told, 1);
}

TEST_F(HttpGuardTest, requests_that_cannot_be_guarded_are_refused_before_the_service) {
  const auto with = [](auto change) {
    HttpRequest request = post("k");
    change(request.headers);
    return request;
  };
  const struct {
    HttpRequest request;
    const char* code;
  } table[] = {
      {post(""), "INVALID_IDEMPOTENCY_KEY"},
      {post(std::string(256, 'k')), "INVALID_IDEMPOTENCY_KEY"},
      {with([](auto& headers) { headers.emplace_back("Idempotency-Key", "l"); }), "INVALID_IDEMPOTENCY_KEY"},
      {with([](auto& headers) { headers.erase(headers.begin()); }), "MISSING_TENANT"},
      {with([](auto& headers) { headers[0].second = "not-a-uuid"; }), "INVALID_TENANT"},
  };
  for (const auto& row : table) {
    const HttpResponse refused = handle(row.request);
    EXPECT_EQ(refused.status, 400);
    EXPECT_EQ(header(refused, "Content-Type"), "application/problem+json");
    EXPECT_THAT(refused.body, HasSubstr(row.code));
  }
  EXPECT_EQ(calls_, 0);
}

TEST_F(HttpGuardTest, safe_methods_and_requests_without_a_key_pass_through) {
  HttpRequest read = post("k");
  read.method = "GET";
  HttpRequest keyless{"POST", "/orders", {}, "{}"};
  for (const HttpRequest& request : {read, read, keyless, keyless}) EXPECT_EQ(handle(request).status, 201);
  EXPECT_EQ(calls_, 4);
}

TEST_F(HttpGuardTest, another_body_is_refused_with_the_status_of_the_policy) {
  (void)handle(post("k"));
  const HttpResponse other = handle(post("k", R"({"item": "pen"})"));
  EXPECT_EQ(other.status, 409);
  EXPECT_THAT(other.body, HasSubstr(R"("changed":["/item"])"));
  EXPECT_EQ(calls_, 1);
}

TEST_F(HttpGuardTest, the_status_decides_what_a_retry_gets) {
  int status = 0;
  const HttpGuard::Service answers = [&](const HttpRequest&) {
    ++calls_;
    return HttpResponse{status, {}, "x"};
  };
  const struct {
    int status;
    int calls;  // of a first attempt and a retry
  } table[] = {{201, 1}, {404, 1}, {500, 1}, {503, 2}, {429, 2}, {502, 1}};
  for (const auto& row : table) {
    status = row.status;
    calls_ = 0;
    const HttpRequest request = post("k" + std::to_string(row.status));
    EXPECT_EQ(guard_.handle(request, answers).status, row.status);
    const HttpResponse again = guard_.handle(request, answers);
    EXPECT_EQ(calls_, row.calls) << row.status;
    if (row.status == 502) EXPECT_THAT(again.body, HasSubstr("IDEMPOTENCY_OUTCOME_UNKNOWN"));
  }
}

TEST_F(HttpGuardTest, a_service_may_say_how_it_ended_and_clients_do_not_see_it) {
  const HttpGuard::Service says = [](const HttpRequest&) {
    return HttpResponse{500, {{"Onceward-Outcome", "retry"}, {"Onceward-Ttl", "5"}}, ""};
  };
  HttpRequest keyless = post("k");
  keyless.headers.pop_back();
  for (const HttpRequest& request : {post("k"), keyless}) {
    const HttpResponse first = guard_.handle(request, says);
    EXPECT_EQ(header(first, "Onceward-Outcome") + header(first, "Onceward-Ttl"), "");
  }
  EXPECT_EQ(handle(post("k")).status, 201) << "released: the retry executes";
}

TEST_F(HttpGuardTest, an_answer_too_large_to_keep_is_given_once) {
  const HttpGuard::Service large = [](const HttpRequest&) {
    return HttpResponse{201, {{"Location", "/orders/7"}}, std::string(65, 'x')};
  };
  EXPECT_EQ(guard_.handle(post("k"), large).body.size(), 65u);
  const HttpResponse again = handle(post("k"));
  EXPECT_EQ(again.status, 409);
  EXPECT_THAT(again.body, HasSubstr("IDEMPOTENCY_RESPONSE_NOT_STORED"));
  EXPECT_THAT(again.body, HasSubstr(R"("originalStatus":201,"location":"/orders/7")"));
  EXPECT_EQ(calls_, 0);
}

TEST_F(HttpGuardTest, what_the_service_throws_is_thrown_on_and_nothing_runs_again) {
  const HttpGuard::Service throws = [](const HttpRequest&) -> HttpResponse {
    throw std::runtime_error("boom");
  };
  EXPECT_THROW((void)guard_.handle(post("k"), throws), std::runtime_error);
  EXPECT_THAT(handle(post("k")).body, HasSubstr("IDEMPOTENCY_OUTCOME_UNKNOWN"));
  EXPECT_EQ(calls_, 0);
}

TEST_F(HttpGuardTest, a_second_request_while_the_first_runs_is_told_to_come_back) {
  const HttpGuard::Service slow = [this](const HttpRequest&) {
    const HttpResponse second = handle(post("k"));
    EXPECT_EQ(second.status, 409);
    EXPECT_EQ(header(second, "Retry-After"), "1");
    EXPECT_THAT(second.body, HasSubstr("IDEMPOTENCY_REQUEST_IN_PROGRESS"));
    return HttpResponse{201, {}, "first"};
  };
  EXPECT_EQ(guard_.handle(post("k"), slow).body, "first");
  EXPECT_EQ(calls_, 0);
}

TEST_F(HttpGuardTest, an_asynchronous_service_responds_when_it_can) {
  std::promise<HttpResponse> answered;
  HttpGuard::Respond later;
  std::promise<void> called;
  guard_.handle(
      post("k"),
      [&](const HttpRequest&, HttpGuard::Respond respond) {
        later = std::move(respond);
        called.set_value();
      },
      [&](HttpResponse response) { answered.set_value(std::move(response)); });
  called.get_future().wait();
  later({201, {}, "later"});
  EXPECT_EQ(answered.get_future().get().body, "later");
  EXPECT_EQ(handle(post("k")).body, "later");
}

TEST_F(HttpGuardTest, a_respond_dropped_unused_is_an_unknown_outcome) {
  std::promise<HttpResponse> answered;
  guard_.handle(
      post("k"), [](const HttpRequest&, const HttpGuard::Respond&) {},
      [&](HttpResponse response) { answered.set_value(std::move(response)); });
  EXPECT_EQ(answered.get_future().get().status, 502);
}

TEST_F(HttpGuardTest, callers_and_tenants_are_isolated) {
  HttpRequest other = post("k");
  other.headers[0].second = "0190b5a3-6f3e-7c2e-9d1a-2f6c1a7e4b11";
  HttpRequest authorised = post("k");
  authorised.headers.emplace_back("Authorization", "Bearer x");
  for (const HttpRequest& request : {post("k"), other, authorised}) EXPECT_EQ(handle(request).status, 201);
  EXPECT_EQ(calls_, 3);
}

TEST(HttpGuardStoreTest, when_storing_fails_the_answer_is_true_and_the_lock_is_kept) {
  const SystemClock clock;
  auto store = std::make_unique<testing::ModelStore>(clock);
  for (int i = 0; i < 100; ++i) store->fail_next("complete", {Errc::unavailable, false});
  EngineOptions made = options();
  made.operations[0].policy.lease = Duration(200);
  made.operations[0].policy.max_hold = Duration(200);
  Result<Engine> engine = Engine::open(made, std::move(store));
  ASSERT_TRUE(engine);
  HttpGuard guard(*engine);
  const HttpResponse first =
      guard.handle(post("k"), [](const HttpRequest&) { return HttpResponse{201, {}, "true"}; });
  EXPECT_EQ(first.body, "true");
  EXPECT_EQ(header(first, "Onceward-Stored"), "false");
  const HttpResponse second = guard.handle(post("k"), [](const HttpRequest&) {
    ADD_FAILURE() << "ran twice";
    return HttpResponse{};
  });
  EXPECT_EQ(second.status, 409);
}

}  // namespace
}  // namespace onceward
