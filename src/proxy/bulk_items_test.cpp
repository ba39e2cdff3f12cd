#include "proxy/bulk_items.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

BulkRules rules() {
  BulkRules rules;
  rules.items = "/items";
  rules.id = "/id";
  rules.method = "POST";
  rules.target = "/cases/{/case}/approve?by={/by/name}";
  rules.items_max = 3;
  return rules;
}

TEST(BulkItems, are_taken_out_as_they_are_written_with_id_and_target) {
  const std::string body =
      R"( {"other":[1],"items":[ {"id":"a","case":7.0,"by":{"name":"x y"}} ,
          {"by":{"name":"\u00e4"}, "case":"a/b", "id": 1e2}]} )";
  const auto items = bulk_items(body, rules());
  ASSERT_TRUE(items) << items.error().detail;
  ASSERT_EQ(items->size(), 2u);
  EXPECT_EQ((*items)[0].json, R"({"id":"a","case":7.0,"by":{"name":"x y"}})");
  EXPECT_EQ((*items)[0].id, "a");
  EXPECT_EQ((*items)[0].id_json, R"("a")");
  EXPECT_EQ((*items)[0].target, "/cases/7/approve?by=x%20y");
  EXPECT_EQ((*items)[1].id, "100");
  EXPECT_EQ((*items)[1].id_json, "1e2");
  EXPECT_EQ((*items)[1].target, "/cases/a%2Fb/approve?by=%C3%A4");
}

TEST(BulkItems, none_is_a_list_too) {
  const auto items = bulk_items(R"({"items":[]})", rules());
  ASSERT_TRUE(items);
  EXPECT_TRUE(items->empty());
}

TEST(BulkItems, a_request_with_one_bad_item_is_refused_as_a_whole) {
  using enum ProblemCode;
  const std::string good = R"({"id":"a","case":1,"by":{"name":"n"}})";
  struct Case {
    std::string items;
    ProblemCode code;
    const char* says;
  };
  const Case cases[] = {
      {"not json", invalid_bulk_request, "not JSON"},
      {"{}", invalid_bulk_request, "no list at /items"},
      {"null", invalid_bulk_request, "no list at /items"},
      {"[" + good + "," + R"({"case":1,"by":{"name":"n"}})" + "]", invalid_bulk_request, "Item 1 has no id"},
      {R"([{"id":"","case":1,"by":{"name":"n"}}])", invalid_bulk_request, "Item 0 has no id"},
      {R"([{"id":{},"case":1,"by":{"name":"n"}}])", invalid_bulk_request, "Item 0 has no id"},
      {R"([{"id":")" + std::string(256, 'x') + R"(","case":1,"by":{"name":"n"}}])", invalid_bulk_request,
       "Item 0 has no id"},
      {"[7]", invalid_bulk_request, "Item 0 has no id"},
      {R"([{"id":"a","by":{"name":"n"}}])", invalid_bulk_request, "Item 0 lacks a value"},
      {R"([{"id":"a","case":"..","by":{"name":"n"}}])", invalid_bulk_request, "Item 0 lacks a value"},
      {"[" + good + "," + good + "]", duplicate_bulk_item, "Item 1 has the same id"},
      {R"([{"id":1,"case":1,"by":{"name":"n"}},{"id":1.0,"case":2,"by":{"name":"n"}}])", duplicate_bulk_item,
       "Item 1 has the same id"},
      {R"([{"id":1,"case":1,"by":{"name":"n"}},{"id":"1","case":2,"by":{"name":"n"}}])", duplicate_bulk_item,
       "Item 1 has the same id"},
      {"[1,2,3,4]", request_too_large, "more than 3 items"},
  };
  for (const Case& c : cases) {
    const auto items = bulk_items(R"({"items":)" + c.items + "}", rules());
    ASSERT_FALSE(items) << c.items;
    EXPECT_EQ(items.error().code, c.code) << c.items;
    EXPECT_NE(items.error().detail.find(c.says), std::string::npos) << items.error().detail;
  }
  EXPECT_EQ(bulk_items(R"({"other":[]})", rules()).error().detail, "The body has nothing at /items.");
  EXPECT_EQ(bulk_items("", rules()).error().detail, "The body is not JSON.");
}

TEST(BulkItems, keys_of_items_differ_by_key_and_id_and_by_where_one_ends) {
  EXPECT_EQ(item_key("k", "1"), item_key("k", "1"));
  EXPECT_NE(item_key("k", "1"), item_key("k", "2"));
  EXPECT_NE(item_key("k", "1"), item_key("l", "1"));
  EXPECT_NE(item_key("k1", "2"), item_key("k", "12"));
  EXPECT_EQ(item_key("k", "1").size(), 64u);
}

}  // namespace
}  // namespace onceward
