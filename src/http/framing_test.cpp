#include "http/framing.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "http/parser.hpp"

namespace onceward::http {
namespace {

constexpr int fine = 0;

struct RequestCase {
  const char* what;
  std::string head;
  int answer;
  Body body = {};
};

std::string post(const std::string& lines) { return "POST /a HTTP/1.1\r\nHost: h\r\n" + lines + "\r\n"; }

const std::vector<RequestCase> request_cases = {
    {"a plain GET", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", fine},
    {"HTTP/1.0 without Host", "GET / HTTP/1.0\r\n\r\n", fine},
    {"an empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", fine},
    {"an IPv6 Host", "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", fine},
    {"a length", post("Content-Length: 5\r\n"), fine, Body::length(5)},
    {"length 0 of a GET", "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", fine, Body::length(0)},
    {"chunked", post("Transfer-Encoding: chunked\r\n"), fine, Body::chunked()},
    {"chunked in capitals", post("Transfer-Encoding: CHUNKED\r\n"), fine, Body::chunked()},
    {"white space around a value", post("Content-Length: \t 5 \t\r\n"), fine, Body::length(5)},
    {"no Host in 1.1", "GET / HTTP/1.1\r\n\r\n", 400},
    {"two Hosts", "GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", 400},
    {"a Host with a path", "GET / HTTP/1.1\r\nHost: h/x\r\n\r\n", 400},
    {"a Host with a user", "GET / HTTP/1.1\r\nHost: u@h\r\n\r\n", 400},
    {"a Host with a bad port", "GET / HTTP/1.1\r\nHost: h:8x\r\n\r\n", 400},
    {"a list of Hosts", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400},
    {"both length and chunked", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400},
    {"two equal lengths", post("Content-Length: 5\r\nContent-Length: 5\r\n"), 400},
    {"a list of lengths", post("Content-Length: 5, 5\r\n"), 400},
    {"a signed length", post("Content-Length: +5\r\n"), 400},
    {"a negative length", post("Content-Length: -5\r\n"), 400},
    {"a hexadecimal length", post("Content-Length: 0x5\r\n"), 400},
    {"a length with a space", post("Content-Length: 5 5\r\n"), 400},
    {"an empty length", post("Content-Length:\r\n"), 400},
    {"a huge length", post("Content-Length: 99999999999999999999\r\n"), 400},
    {"chunked in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {"chunked twice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
    {"chunked, chunked", post("Transfer-Encoding: chunked, chunked\r\n"), 400},
    {"gzip, chunked", post("Transfer-Encoding: gzip, chunked\r\n"), fine, Body::chunked()},
    {"codings on lines of their own", post("Transfer-Encoding: Gzip\r\nTransfer-Encoding: chunked\r\n"), fine,
     Body::chunked()},
    {"a parameter of chunked", post("Transfer-Encoding: chunked;x\r\n"), fine, Body::chunked()},
    {"chunked, gzip", post("Transfer-Encoding: chunked, gzip\r\n"), 400},
    {"chunked before a line with gzip", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n"),
     400},
    {"gzip, chunked twice", post("Transfer-Encoding: gzip, chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
    {"gzip without chunked", post("Transfer-Encoding: gzip\r\n"), 400},
    {"an unknown coding", post("Transfer-Encoding: cow, chunked\r\n"), 400},
    {"an empty element", post("Transfer-Encoding: , chunked\r\n"), 400},
    {"a trailing comma", post("Transfer-Encoding: chunked,\r\n"), 400},
    {"gzip and a length", post("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n"), 400},
    {"gzip, chunked in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 400},
    {"identity", post("Transfer-Encoding: identity\r\n"), 400},
    {"an empty coding", post("Transfer-Encoding:\r\n"), 400},
    {"an underscore instead of a dash", post("Transfer_Encoding: chunked\r\n"), 400},
    {"a length with an underscore", post("Content_Length: 5\r\n"), 400},
    {"a body of a GET", "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n", 400},
    {"a body of a HEAD", "HEAD / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {"a folded line", post("X: a\r\n b\r\n"), 400},
    {"a folded first line", "GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400},
    {"a space before the colon", post("Content-Length : 5\r\n"), 400},
    {"a bare LF after the request line", "GET / HTTP/1.1\nHost: h\r\n\r\n", 400},
    {"a bare LF after a header", "GET / HTTP/1.1\r\nHost: h\n\r\n", 400},
    {"a bare CR in a value", post("X: a\rb\r\n"), 400},
    {"a NUL in a value", post(std::string("X: a\0b\r\n", 8)), 400},
    {"a control byte in a value", post("X: a\x01\r\n"), 400},
    {"a delete byte in a value", post("X: a\x7f\r\n"), 400},
    {"bytes above 127 in a value", post("X: caf\xc3\xa9\r\n"), fine},
    {"bytes above 127 in a name", post("X\xc3\xa9: a\r\n"), 400},
    {"an empty name", post(": a\r\n"), 400},
    {"a line without a colon", post("X\r\n"), 400},
    {"two spaces in the request line", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"a tab in the request line", "GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"a space at the end of the request line", "GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 400},
    {"a space in the target", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"a fragment in the path", "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"a fragment before the query", "GET /a#b?c HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"a fragment in the path of a URI", "GET http://h/a#b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"a fragment instead of the path of a URI", "GET http://h#b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"a # in the query", "GET /a?b#c HTTP/1.1\r\nHost: h\r\n\r\n", fine},
    {"bytes above 127 in the target", "GET /\xc3\xa9 HTTP/1.1\r\nHost: h\r\n\r\n", fine},
    {"a delete byte in the target", "GET /\x7f HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"an empty target", "GET  HTTP/1.1\r\nHost: h\r\n\r\n", fine},
    {"a target of two spaces", "GET   HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"an empty path before a query", "GET ?a HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"no version", "GET /\r\nHost: h\r\n\r\n", 400},
    {"HTTP/0.9", "GET / HTTP/0.9\r\nHost: h\r\n\r\n", 400},
    {"HTTP/2.0", "GET / HTTP/2.0\r\nHost: h\r\n\r\n", 400},
    {"HTTP/1.2", "GET / HTTP/1.2\r\nHost: h\r\n\r\n", 400},
    {"HTTP/1.10", "GET / HTTP/1.10\r\nHost: h\r\n\r\n", 400},
    {"a lower-case version", "GET / http/1.1\r\nHost: h\r\n\r\n", 400},
    {"CONNECT", "CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", 501},
    {"a method with a colon", "G:T / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"a target without a slash", "GET a HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"the target * of OPTIONS", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", fine},
    {"the target * of GET", "GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"an absolute target", "GET http://h/x HTTP/1.1\r\nHost: h\r\n\r\n", fine},
    {"an absolute target of another host", "GET http://i/x HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"an absolute target without a path", "GET http://h?x HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"an absolute target with a user", "GET http://u@h/ HTTP/1.1\r\nHost: u@h\r\n\r\n", 400},
    {"another scheme", "GET ftp://h/x HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"100-continue", post("Content-Length: 5\r\nExpect: 100-Continue\r\n"), fine, Body::length(5)},
    {"another expectation", post("Content-Length: 5\r\nExpect: tea\r\n"), 417},
};

TEST(Framing, RequestsAreJudgedStrictly) {
  for (const RequestCase& c : request_cases) {
    RequestHead head;
    const HeadParse parse = parse_request_head(c.head, head);
    if (c.answer == fine) {
      EXPECT_EQ(parse.status, HeadParse::Status::done) << c.what << ": " << parse.detail;
      EXPECT_EQ(parse.bytes, c.head.size()) << c.what;
      EXPECT_EQ(head.body, c.body) << c.what;
    } else {
      EXPECT_EQ(parse.status, HeadParse::Status::bad) << c.what;
      EXPECT_EQ(parse.answer, c.answer) << c.what << ": " << parse.detail;
    }
  }
}

struct ResponseCase {
  const char* what;
  const char* method;
  std::string head;
  bool good;
  Body body = {};
  bool keep_alive = true;
};

const std::vector<ResponseCase> response_cases = {
    {"a length", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", true, Body::length(3)},
    {"chunked", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", true, Body::chunked()},
    {"neither", "GET", "HTTP/1.1 200 OK\r\n\r\n", true, Body::until_close(), false},
    {"an answer to HEAD", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", true, Body::none()},
    {"204", "POST", "HTTP/1.1 204 No Content\r\n\r\n", true, Body::none()},
    {"304 with a length", "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", true,
     Body::none()},
    {"100", "POST", "HTTP/1.1 100 Continue\r\n\r\n", true, Body::none()},
    {"no reason", "GET", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", true, Body::length(0)},
    {"no space before no reason", "GET", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", true, Body::length(0)},
    {"close", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", true,
     Body::length(0), false},
    {"HTTP/1.0", "GET", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", true, Body::length(0), false},
    {"HTTP/1.0 kept", "GET", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n", true,
     Body::length(0), true},
    {"both", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", false},
    {"two lengths", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n", false},
    {"a bad length", "GET", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", false},
    {"gzip, chunked", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", false},
    {"chunked in 1.0", "GET", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false},
    {"a folded line", "GET", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", false},
    {"bare LF", "GET", "HTTP/1.1 200 OK\nContent-Length: 0\n\n", false},
    {"status 99", "GET", "HTTP/1.1 099 X\r\n\r\n", false},
    {"status 600", "GET", "HTTP/1.1 600 X\r\n\r\n", false},
    {"four digits", "GET", "HTTP/1.1 2000 X\r\n\r\n", false},
    {"not HTTP", "GET", "SSH-2.0-x\r\n\r\n", false},
};

TEST(Framing, ResponsesAreJudgedStrictly) {
  for (const ResponseCase& c : response_cases) {
    ResponseHead head;
    const HeadParse parse = parse_response_head(c.head, c.method, head);
    EXPECT_EQ(parse.status == HeadParse::Status::done, c.good) << c.what << ": " << parse.detail;
    if (!c.good) continue;
    EXPECT_EQ(head.body, c.body) << c.what;
    EXPECT_EQ(head.keep_alive, c.keep_alive) << c.what;
  }
}

}  // namespace
}  // namespace onceward::http
