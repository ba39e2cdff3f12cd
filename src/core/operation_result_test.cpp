#include "core/operation_result.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

struct Case {
  const char* value;
  const char* type;  // null: nothing is read
  const char* id;
};

void expect_reads(bool (*read)(std::string_view, OperationResult&), const Case& c) {
  OperationResult result{"before", "before", ""};
  const bool reads = read(c.value, result);
  EXPECT_EQ(reads, c.type != nullptr) << c.value;
  EXPECT_EQ(result.resource_type, c.type ? c.type : "before") << c.value;
  EXPECT_EQ(result.resource_id, c.id ? c.id : "before") << c.value;
}

TEST(OperationResult, a_resource_is_a_type_and_an_id) {
  const Case cases[] = {
      {"payment/pay_1", "payment", "pay_1"}, {"file/a/b.txt", "file", "a/b.txt"},
      {"payment", nullptr, nullptr},         {"/pay_1", nullptr, nullptr},
      {"payment/", nullptr, nullptr},        {"", nullptr, nullptr},
      {"a b/c", nullptr, nullptr},           {"a/b\xff", nullptr, nullptr},
  };
  for (const Case& c : cases) expect_reads(read_resource, c);
  expect_reads(read_resource, {(std::string("t/") + std::string(513, 'x')).c_str(), nullptr, nullptr});
}

TEST(OperationResult, a_location_ends_in_collection_and_id) {
  const Case cases[] = {
      {"/payments/pay_1", "payments", "pay_1"},
      {"/v1/orders/42", "orders", "42"},
      {"/v1/orders/42/", "orders", "42"},
      {"/orders/42?x=/a/b#/c", "orders", "42"},
      {"https://api.example/v1/orders/42", "orders", "42"},
      {"//api.example/orders/42", "orders", "42"},
      {"orders/42", "orders", "42"},
      {"/orders/a%2Fb", "orders", "a%2Fb"},
      {"/42", nullptr, nullptr},
      {"https://api.example/42", nullptr, nullptr},
      {"https://api.example", nullptr, nullptr},
      {"/", nullptr, nullptr},
      {"", nullptr, nullptr},
      {"//", nullptr, nullptr},
      {"/orders//", nullptr, nullptr},
  };
  for (const Case& c : cases) expect_reads(read_location, c);
}

TEST(OperationResult, a_problem_says_why_it_failed) {
  struct Problem {
    const char* body;
    const char* code;
  };
  const Problem cases[] = {
      {R"({"type":"https://example/out-of-stock","code":"OUT_OF_STOCK"})", "OUT_OF_STOCK"},
      {R"({"type":"https://example/out-of-stock"})", "https://example/out-of-stock"},
      {R"({"code":17})", "17"},
      {R"({"type":"about:blank"})", ""},
      {R"({"code":"a\nb"})", ""},
      {R"({"code":{}})", ""},
      {"not JSON", ""},
      {"", ""},
  };
  for (const Problem& c : cases) EXPECT_EQ(failure_code_of_problem(c.body), c.code) << c.body;
}

TEST(OperationResult, only_a_text_that_can_be_shown_is_kept) {
  EXPECT_TRUE(is_showable("Auftrag Nr. 17 \xc3\xa4", 255));
  EXPECT_FALSE(is_showable("", 255));
  EXPECT_FALSE(is_showable("abc", 2));
  EXPECT_FALSE(is_showable("a\tb", 255));
  EXPECT_FALSE(is_showable("a\xc3", 255));
  EXPECT_FALSE(is_showable("a\xff", 255));
  EXPECT_FALSE(is_showable(std::string_view("a\0b", 3), 255));
}

}  // namespace
}  // namespace onceward
