#include "http/parser.hpp"

#include <gtest/gtest.h>

#include <string>

namespace onceward::http {
namespace {

TEST(Parser, FillsInTheHeadAsViews) {
  const std::string text =
      "POST /orders?x=1 HTTP/1.1\r\nHost: shop\r\nx-a:  one \r\nX-A: two\r\nContent-Length: 3\r\n\r\nabc";
  RequestHead head;
  const HeadParse parse = parse_request_head(text, head);
  ASSERT_EQ(parse.status, HeadParse::Status::done) << parse.detail;
  EXPECT_EQ(parse.bytes, text.size() - 3);
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.path(), "/orders");
  EXPECT_EQ(head.query(), "x=1");
  EXPECT_EQ(head.host, "shop");
  EXPECT_EQ(head.headers.find("X-A"), "one");
  EXPECT_EQ(head.headers.count("x-A"), 2U);
  EXPECT_EQ(head.headers.lines("x-a"), (std::vector<std::string_view>{"one", "two"}));
  EXPECT_FALSE(head.headers.find("X-B"));
}

TEST(Parser, EveryPrefixOfAHeadNeedsMore) {
  const std::string text = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n";
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
    RequestHead head;
    EXPECT_EQ(parse_request_head(text.substr(0, bytes), head).status, HeadParse::Status::need_more) << bytes;
  }
}

TEST(Parser, SearchingOnFindsTheSameEnd) {
  const std::string text = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  for (std::size_t from = 0; from < text.size(); ++from)
    EXPECT_EQ(find_head_end(text, from), text.size()) << from;
}

TEST(Parser, AnAbsoluteTargetBecomesItsPath) {
  RequestHead head;
  const std::string with_path = "GET http://shop:80/a?b HTTP/1.1\r\nHost: SHOP:80\r\n\r\n";
  ASSERT_EQ(parse_request_head(with_path, head).status, HeadParse::Status::done);
  EXPECT_EQ(head.target, "/a?b");
  EXPECT_EQ(head.host, "shop:80");
  const std::string without = "GET http://shop HTTP/1.0\r\n\r\n";
  ASSERT_EQ(parse_request_head(without, head).status, HeadParse::Status::done);
  EXPECT_EQ(head.target, "/");
  EXPECT_EQ(head.host, "shop");
}

TEST(Parser, TheNumberOfHeaderLinesIsBounded) {
  std::string lines;
  for (int i = 0; i < 255; ++i) lines += "a:\r\n";
  RequestHead head;
  const std::string start = "GET / HTTP/1.1\r\nHost: h\r\n";
  EXPECT_EQ(parse_request_head(start + lines + "\r\n", head).status, HeadParse::Status::done);
  const std::string more = start + lines + "a:\r\n\r\n";
  EXPECT_EQ(parse_request_head(more, head).answer, 431);
}

struct KeepAliveCase {
  const char* version;
  const char* line;
  bool keeps;
};

TEST(Parser, ConnectionsPersistAsTheVersionSays) {
  const KeepAliveCase cases[] = {
      {"1.1", "", true},
      {"1.1", "Connection: close\r\n", false},
      {"1.1", "Connection: x, Close\r\n", false},
      {"1.1", "Connection: keep-alive\r\n", true},
      {"1.0", "", false},
      {"1.0", "Connection: Keep-Alive\r\n", true},
      {"1.0", "Connection: keep-alive, close\r\n", false},
  };
  for (const KeepAliveCase& c : cases) {
    RequestHead head;
    const std::string text = std::string("GET / HTTP/") + c.version + "\r\nHost: h\r\n" + c.line + "\r\n";
    ASSERT_EQ(parse_request_head(text, head).status, HeadParse::Status::done);
    EXPECT_EQ(head.keep_alive, c.keeps) << text;
  }
}

}  // namespace
}  // namespace onceward::http
