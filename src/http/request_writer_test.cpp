#include "http/request_writer.hpp"

#include <gtest/gtest.h>

#include <string>

#include "http/parser.hpp"
#include "http/response_writer.hpp"

namespace onceward::http {
namespace {

std::string forward(const std::string& request, const ForwardOptions& options) {
  RequestHead head;
  EXPECT_EQ(parse_request_head(request, head).status, HeadParse::Status::done);
  std::string out = "left over";
  write_request_head(out, head, head.body, options);
  return out;
}

TEST(RequestWriter, DropsWhatBelongsToOneConnectionAndWritesFramingAnew) {
  ForwardOptions options;
  options.peer_address = "10.0.0.9";
  options.extra_lines = "Extra: 1\r\n";
  const std::string out = forward(
      "POST /a?b HTTP/1.1\r\nHost: h\r\nConnection: close, X-Gone\r\nX-Gone: 1\r\nKeep-Alive: 5\r\nTE: x\r\n"
      "Proxy-Authorization: s\r\nUpgrade: y\r\nExpect: 100-continue\r\nX-Kept: a\r\nX-Kept: b\r\n"
      "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-Proto: spoofed\r\nTransfer-Encoding: chunked\r\n\r\n",
      options);
  EXPECT_EQ(out,
            "POST /a?b HTTP/1.1\r\nHost: h\r\nX-Kept: a\r\nX-Kept: b\r\n"
            "X-Forwarded-For: 1.1.1.1, 10.0.0.9\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: h\r\n"
            "Transfer-Encoding: chunked\r\nExtra: 1\r\n\r\n");
}

TEST(RequestWriter, AConnectionHeaderCannotRemoveProtectedNames) {
  const std::string_view kept[] = {"Idempotency-Key"};
  ForwardOptions options;
  options.protected_names = kept;
  const std::string out = forward(
      "POST / HTTP/1.1\r\nHost: h\r\nConnection: idempotency-key, host, content-length, x\r\n"
      "IDEMPOTENCY-KEY: k\r\nX: 1\r\nContent-Length: 0\r\n\r\n",
      options);
  EXPECT_EQ(out, "POST / HTTP/1.1\r\nHost: h\r\nIDEMPOTENCY-KEY: k\r\nContent-Length: 0\r\n\r\n");
}

TEST(RequestWriter, DropsNamesThatAreReplacedAndPutsTheBasePathFirst) {
  const std::string_view drop[] = {"Onceward-Epoch"};
  ForwardOptions options;
  options.drop = drop;
  options.base_path = "/base";
  options.host = "upstream:1";
  const std::string out = forward("PUT /x HTTP/1.1\r\nHost: h\r\nonceward-epoch: 9\r\n\r\n", options);
  EXPECT_EQ(out, "PUT /base/x HTTP/1.1\r\nHost: upstream:1\r\nContent-Length: 0\r\n\r\n");
}

TEST(RequestWriter, CodingsOfTheContentStayAndAreWrittenAnew) {
  const std::string out = forward(
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: GZIP;q=1\r\nTransfer-Encoding: identity ,\tdeflate, "
      "chunked;x\r\n\r\n",
      {});
  EXPECT_EQ(out, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, deflate, chunked\r\n\r\n");
  EXPECT_EQ(as_chunks("0123456789abcdef"), "10\r\n0123456789abcdef\r\n0\r\n\r\n");
  EXPECT_EQ(as_chunks(""), "0\r\n\r\n");
}

TEST(ResponseWriter, PassesOnEndToEndLinesInTheirOrder) {
  const std::string text =
      "HTTP/1.1 201 Created\r\nSet-Cookie: a\r\nDate: d\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\n"
      "Set-Cookie: b\r\nContent-Length: 0\r\nOnceward-Ttl: 5\r\n\r\n";
  ResponseHead head;
  ASSERT_EQ(parse_response_head(text, "POST", head).status, HeadParse::Status::done);
  const std::string_view drop[] = {"onceward-ttl"};
  std::string out;
  append_response_lines(out, head, drop);
  EXPECT_EQ(out, "Set-Cookie: a\r\nDate: d\r\nSet-Cookie: b\r\n");
}

}  // namespace
}  // namespace onceward::http
