#include "core/request_marks.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;

Policy policy_with(std::vector<std::string> unique, std::vector<std::string> suspect = {},
                   SuspectAction action = SuspectAction::flag) {
  Policy policy;
  if (!unique.empty()) {
    policy.unique = UniquePolicy{.name = "rule", .fields = std::move(unique), .keep = 24h};
  }
  if (!suspect.empty()) {
    policy.suspect = SuspectPolicy{.fields = std::move(suspect), .within = 5s, .action = action};
  }
  return policy;
}

MarkedRequest request(std::string_view body) {
  return {.tenant = "acme", .caller = "c1", .operation = "pay", .body = body};
}

Scope only_scope(const Policy& policy, const MarkedRequest& of) {
  const std::vector<Mark> marks = marks_of(policy, of, "");
  EXPECT_EQ(marks.size(), 1u) << of.body;
  return marks.empty() ? Scope{} : marks[0].scope;
}

TEST(RequestMarks, are_none_without_a_rule) { EXPECT_TRUE(marks_of(Policy{}, request("{}"), "").empty()); }

TEST(RequestMarks, of_one_fact_are_the_same_however_it_is_written) {
  const Policy policy = policy_with({"/order", "/amount"});
  const Scope first = only_scope(policy, request(R"({"order":"A","amount":100})"));
  EXPECT_EQ(first, only_scope(policy, request(R"({ "amount":1e2, "x":1, "order":"\u0041" })")));
  EXPECT_NE(first, only_scope(policy, request(R"({"order":"A","amount":101})")));
  EXPECT_NE(first, only_scope(policy, request(R"({"order":"A1","amount":"00"})")));
}

TEST(RequestMarks, of_a_fact_belong_to_the_tenant_and_the_rule_and_not_to_the_caller) {
  const Policy policy = policy_with({"/o"});
  const Scope first = only_scope(policy, request(R"({"o":1})"));
  MarkedRequest other = request(R"({"o":1})");
  other.caller = "c2";
  other.operation = "pay.again";
  EXPECT_EQ(first, only_scope(policy, other));
  other.tenant = "other";
  EXPECT_NE(first, only_scope(policy, other));
  other.tenant = std::nullopt;
  EXPECT_NE(first, only_scope(policy, other));
  Policy renamed = policy;
  renamed.unique->name = "another";
  EXPECT_NE(first, only_scope(renamed, request(R"({"o":1})")));
  EXPECT_NE(marks_of(policy, request(R"({"o":1})"), "a secret of an operator")[0].scope, first);
}

TEST(RequestMarks, state_no_fact_when_a_field_is_missing) {
  const Policy policy = policy_with({"/o", "/p"});
  for (const char* body : {R"({"o":1})", R"({"o":1,"p":null})", "not json", "", R"({"o":1,"p":)"}) {
    EXPECT_TRUE(marks_of(policy, request(body), "").empty()) << body;
  }
}

TEST(RequestMarks, of_a_likeness_belong_to_the_caller_and_the_operation) {
  const Policy policy = policy_with({}, {"/customer", "/amount"});
  const Scope first = only_scope(policy, request(R"({"customer":"c","amount":5})"));
  MarkedRequest other = request(R"({"customer":"c","amount":5.0})");
  EXPECT_EQ(first, only_scope(policy, other));
  other.caller = "c2";
  EXPECT_NE(first, only_scope(policy, other));
  other = request(R"({"customer":"c","amount":5})");
  other.operation = "refund";
  EXPECT_NE(first, only_scope(policy, other));
}

TEST(RequestMarks, of_a_likeness_tell_a_missing_field_from_any_value) {
  const Policy policy = policy_with({}, {"/a", "/b"});
  const Scope left = only_scope(policy, request(R"({"a":1})"));
  const Scope right = only_scope(policy, request(R"({"b":1})"));
  EXPECT_NE(left, right);
  EXPECT_TRUE(marks_of(policy, request(R"({"c":1})"), "").empty()) << "nothing to be alike in";
}

TEST(RequestMarks, refuse_as_the_rule_says_unless_the_caller_confirms) {
  struct Case {
    SuspectAction action;
    bool confirmed;
    bool refuses;
  };
  for (const Case& c : {Case{SuspectAction::flag, false, false}, Case{SuspectAction::reject, false, true},
                        Case{SuspectAction::replay, false, true}, Case{SuspectAction::reject, true, false}}) {
    MarkedRequest asked = request(R"({"a":1})");
    asked.confirmed = c.confirmed;
    const std::vector<Mark> marks = marks_of(policy_with({"/a"}, {"/a"}, c.action), asked, "");
    ASSERT_EQ(marks.size(), 2u);
    EXPECT_EQ(marks[0].kind, MarkKind::unique);
    EXPECT_TRUE(marks[0].refuses) << "a fact is a fact";
    EXPECT_EQ(marks[0].keep, 24h);
    EXPECT_EQ(marks[1].kind, MarkKind::suspect);
    EXPECT_EQ(marks[1].refuses, c.refuses);
    EXPECT_EQ(marks[1].keep, 5s);
    EXPECT_NE(marks[0].scope, marks[1].scope);
  }
}

}  // namespace
}  // namespace onceward
