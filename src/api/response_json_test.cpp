#include "api/response_json.hpp"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

namespace onceward {
namespace {

struct Read {
  std::shared_ptr<const Response> response;
  std::string error;
};

Read read(const std::string& text, std::size_t bytes_max = 1000) {
  JsonBody body(text);
  auto object = body.object();
  Read result;
  result.response = read_response(*object, bytes_max);
  result.error = body.error();
  return result;
}

TEST(ResponseJson, ReadsBytesAndHeadersInOrder) {
  const Read got = read(
      R"({"response":{"status":201,"headers":[["X-A","1"],["x-a"," 2 "],["Content-Length","9"],["Connection","x"],
      ["Transfer-Encoding","chunked"],["Date","now"]],"body":"AAH/"}})");
  ASSERT_TRUE(got.response) << got.error;
  EXPECT_EQ(got.error, "");
  EXPECT_EQ(got.response->status, 201);
  EXPECT_EQ(got.response->headers, "X-A: 1\r\nx-a: 2\r\n") << "framing is not the answer's own";
  EXPECT_EQ(got.response->body, std::string("\0\1\xff", 3));
  EXPECT_EQ(boost::json::serialize(response_json(*got.response)),
            R"({"status":201,"headers":[["X-A","1"],["x-a","2"]],"body":"AAH/"})");
}

TEST(ResponseJson, KeepsJsonAsItWasWritten) {
  const Read got = read(R"({"response":{"status":200,"json":{"b":1.00,"a":[ ]}}})");
  ASSERT_TRUE(got.response) << got.error;
  EXPECT_EQ(got.response->body, R"({"b":1.00,"a":[ ]})");
  EXPECT_EQ(got.response->headers, "Content-Type: application/json\r\n");
  EXPECT_EQ(
      read(R"({"response":{"status":200,"json":1,"headers":[["content-type","text/x"]]}})").response->headers,
      "content-type: text/x\r\n");
}

TEST(ResponseJson, RefusesWhatCouldNotBeReplayed) {
  for (const char* text :
       {R"({"response":{}})", R"({"response":{"status":199}})", R"({"response":{"status":600}})",
        R"({"response":{"status":"200"}})", R"({"response":[]})", R"({"response":{"status":200,"body":"A"}})",
        R"({"response":{"status":200,"body":"AA==","json":1}})",
        R"({"response":{"status":200,"headers":[["A b","c"]]}})",
        R"({"response":{"status":200,"headers":[["","c"]]}})",
        R"({"response":{"status":200,"headers":[["A","b\r\nC: d"]]}})",
        R"({"response":{"status":200,"headers":[["A","b\u0000"]]}})",
        R"({"response":{"status":200,"headers":{"A":"b"}}})", R"({"response":{"status":200,"extra":1}})"})
    EXPECT_NE(read(text).error, "") << text;
  EXPECT_NE(read(R"({"response":{"status":200,"body":"AAAA"}})", 2).error, "");
  EXPECT_EQ(read(R"({"response":{"status":200,"body":"AAA="}})", 2).error, "");
}

}  // namespace
}  // namespace onceward
