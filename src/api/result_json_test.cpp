#include "api/result_json.hpp"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

namespace onceward {
namespace {

std::string read_and_written(const std::string& text) {
  JsonBody body(text);
  std::optional<JsonObject> object = body.object();
  const std::shared_ptr<const OperationResult> result = read_result(*object);
  if (!body.ok()) return body.error();
  return result ? boost::json::serialize(result_json(*result)) : "none";
}

TEST(ResultJson, is_written_as_it_was_read) {
  for (const std::string text : {R"({"resource_type":"order","resource_id":"7"})", R"({"failure_code":"F"})",
                                 R"({"resource_type":"order","resource_id":"7","failure_code":"F"})", "{}"}) {
    EXPECT_EQ(read_and_written(R"({"result":)" + text + "}"), text);
  }
  EXPECT_EQ(read_and_written("{}"), "none");
}

TEST(ResultJson, says_what_is_wrong) {
  struct Case {
    const char* text;
    const char* where;
  };
  const Case cases[] = {
      {R"({"result":7})", "/result"},
      {R"({"result":{"resource_type":"order"}})", "/result/resource_id"},
      {R"({"result":{"resource_id":"7"}})", "/result/resource_id"},
      {R"({"result":{"failure_code":"a\nb"}})", "/result/failure_code"},
      {R"({"result":{"failure_code":""}})", "/result/failure_code"},
      {R"({"result":{"resource":"7"}})", "/result/resource"},
  };
  for (const Case& c : cases) EXPECT_TRUE(read_and_written(c.text).starts_with(c.where)) << c.text;
}

}  // namespace
}  // namespace onceward
