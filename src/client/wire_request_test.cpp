#include "client/wire_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onceward::client {
namespace {

using testing::HasSubstr;

WireRequest made(const Request& request, const ClientOptions& options = {}) {
  Result<WireRequest> wire = make_wire_request(request, "k", options);
  EXPECT_TRUE(wire) << wire.error().message;
  return *wire;
}

TEST(WireRequest, HasTheKeyOnceAndItsFraming) {
  const WireRequest wire =
      made({.url = "http://h:81/a/b?c=d#e", .headers = {{"X-A", " 1 "}, {"X-A", "2"}}, .body = "body"});
  EXPECT_EQ(wire.origin, "http://h:81");
  EXPECT_EQ(wire.head,
            "POST /a/b?c=d HTTP/1.1\r\nHost: h:81\r\nIdempotency-Key: \"k\"\r\nX-A: 1\r\nX-A: 2\r\n"
            "Content-Length: 4\r\n\r\n");
  EXPECT_THAT(made({.url = "https://h"}).head, testing::StartsWith("POST / HTTP/1.1\r\nHost: h\r\n"));
  EXPECT_THAT(made({.url = "http://h?q=1"}).head, testing::StartsWith("POST /?q=1 HTTP/1.1\r\n"));
  EXPECT_THAT(made({.method = "GET", .url = "http://h/"}).head, testing::Not(HasSubstr("Content-Length")));
}

TEST(WireRequest, WritesKeysAsServersReadThem) {
  EXPECT_THAT(make_wire_request({.url = "http://h"}, "a\"b\\c", {})->head,
              HasSubstr("Idempotency-Key: \"a\\\"b\\\\c\"\r\n"));
  EXPECT_THAT(
      make_wire_request({.url = "http://h"}, "abc", {.key_header = "X-Key", .quote_key = false})->head,
      HasSubstr("X-Key: abc\r\n"));
  EXPECT_FALSE(make_wire_request({.url = "http://h"}, "a b", {.quote_key = false}));
}

TEST(WireRequest, RefusesWhatCannotBeSent) {
  const Request wrong[] = {
      {.url = "h/p"},
      {.url = "ftp://h"},
      {.url = "http://"},
      {.url = "http://h/a b"},
      {.method = "PO ST", .url = "http://h"},
      {.method = "", .url = "http://h"},
      {.url = "http://h", .headers = {{"bad name", "v"}}},
      {.url = "http://h", .headers = {{"X", "a\r\nY: b"}}},
      {.url = "http://h", .headers = {{"content-length", "3"}}},
      {.url = "http://h", .headers = {{"idempotency-key", "mine"}}},
  };
  for (const Request& request : wrong) {
    const auto wire = make_wire_request(request, "k", {});
    ASSERT_FALSE(wire) << request.url << request.method;
    EXPECT_EQ(wire.error().code, Errc::invalid);
  }
}

TEST(WireRequest, DigestsTellRequestsAndCallersApart) {
  const Request base{.url = "http://h/p", .headers = {{"Content-Type", "text/plain"}}, .body = "b"};
  const WireRequest first = made(base);
  const auto changed = [&](auto change) {
    Request other = base;
    change(other);
    return made(other);
  };
  EXPECT_EQ(made(base).request, first.request);
  EXPECT_NE(changed([](Request& r) { r.method = "PUT"; }).request, first.request);
  EXPECT_NE(changed([](Request& r) { r.url += "?x"; }).request, first.request);
  EXPECT_NE(changed([](Request& r) { r.body = "c"; }).request, first.request);
  EXPECT_NE(changed([](Request& r) { r.headers[0].second = "text/html"; }).request, first.request);
  const WireRequest traced = changed([](Request& r) { r.headers.emplace_back("traceparent", "00-1"); });
  EXPECT_EQ(traced.request, first.request);
  EXPECT_EQ(traced.identity, first.identity);
  const WireRequest other = changed([](Request& r) { r.headers.emplace_back("authorization", "Bearer 2"); });
  EXPECT_EQ(other.request, first.request);
  EXPECT_NE(other.identity, first.identity);
}

}  // namespace
}  // namespace onceward::client
