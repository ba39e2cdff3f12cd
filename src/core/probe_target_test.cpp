#include "core/probe_target.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

TEST(ProbeTarget, names_what_it_may_ask_by) {
  struct Case {
    const char* target;
    bool right;
  };
  const Case cases[] = {
      {"/payments/by-operation/{operation_id}", true},
      {"/payments/by-key/{key}?tenant={tenant}", true},
      {"/orders/{/order_id}/payments/{operation_id}", true},
      {"/payments", false},            // about which?
      {"/orders/{/order_id}", false},  // two requests may have one order
      {"/payments/{id}/{key}", false},
      {"/payments/{/a~2}/{key}", false},
      {"/payments/{}/{key}", false},
  };
  for (const Case& c : cases) EXPECT_EQ(check_probe_target(c.target).empty(), c.right) << c.target;
}

TEST(ProbeTarget, is_filled_in_from_the_request_and_encoded) {
  struct Case {
    const char* target;
    const char* filled;  // null: cannot be
  };
  const ProbeInputs inputs{
      .tenant = "acme/eu", .key = "k 1&x", .body = R"({"id":7.0,"s":"ü","up":"..","e":""})"};
  const Case cases[] = {
      {"/a/{operation_id}", "/a/{operation_id}"},
      {"/a/{key}", "/a/k%201%26x"},
      {"/a?t={tenant}&k={key}", "/a?t=acme%2Feu&k=k%201%26x"},
      {"/a/{/id}/{operation_id}", "/a/7/{operation_id}"},
      {"/a/{/s}/{key}", "/a/%C3%BC/k%201%26x"},
      {"/a/{/up}/{key}", nullptr},
      {"/a/{/e}/{key}", nullptr},
      {"/a/{/absent}/{key}", nullptr},
  };
  for (const Case& c : cases) {
    const Result<std::string> filled = fill_in_request(c.target, inputs);
    ASSERT_EQ(filled.has_value(), c.filled != nullptr) << c.target;
    if (filled) EXPECT_EQ(*filled, c.filled);
  }
  EXPECT_FALSE(fill_in_request("/a/{key}", {"", "..", ""}));
  EXPECT_FALSE(fill_in_request("/a/{key}", {"", ".", ""}));
  EXPECT_TRUE(fill_in_request("/a/{key}", {"", "...", ""}));
  EXPECT_FALSE(fill_in_request("/a/{key}/{/id}", {"", "k", "not json"}));
}

TEST(ProbeTarget, of_a_record_is_what_was_kept_or_what_needs_nothing_kept) {
  Record record;
  record.operation_id = *operation_id_from_string("01890a5d-ac96-774b-bcce-b302099a8057");
  RequestInfo request{"acme", "op", "", {}};
  record.request = std::make_shared<const RequestInfo>(request);
  ProbePolicy policy;
  policy.target = "/a/{tenant}/{operation_id}";
  EXPECT_EQ(*probe_target(record, policy), "/a/acme/01890a5d-ac96-774b-bcce-b302099a8057");
  policy.target = "/a/{key}";
  EXPECT_FALSE(probe_target(record, policy)) << "a record from before the probe was configured";
  request.probe_target = "/b/k/{operation_id}";
  record.request = std::make_shared<const RequestInfo>(request);
  EXPECT_EQ(*probe_target(record, policy), "/b/k/01890a5d-ac96-774b-bcce-b302099a8057");
}

TEST(ItemTarget, is_filled_in_from_the_item_only) {
  EXPECT_EQ(check_item_target("/cases/{/case}/approve?by={/by/name}"), "");
  EXPECT_EQ(check_item_target("/cases"), "");
  for (const char* bad : {"/cases/{key}", "/cases/{operation_id}", "/cases/{}", "/cases/{/a~2}"}) {
    EXPECT_NE(check_item_target(bad), "") << bad;
  }
}

}  // namespace
}  // namespace onceward
